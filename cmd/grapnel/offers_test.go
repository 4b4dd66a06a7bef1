package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// offeredFiles are what is written once an answer is remembered.
var offeredFiles = []string{
	"notes.txt", "Makefile", "src", "notes.txt/a", "src/a.txt", "src/b.txt", "src/Makefile", "src/deep/c.txt", "src/.hidden", "src/.git/hooks/x",
	"srcs/a.txt", "src/../Makefile", "src/link/a.txt", "link.txt", "../outside.txt",
}

// offerModel writes the file that the user names.
func offerModel() string {
	var sb strings.Builder
	sb.WriteString("rules:\n")
	for _, name := range offeredFiles {
		fmt.Fprintf(&sb, "  - {when: {user: {contains: '<%s>'}, step: 1}, calls: [{tool: write, args: {file_path: '%s', content: x}}]}\n", name, name)
	}
	return sb.String() + "  - {when: always, say: done}\n"
}

// reaches reads a sentence as a person does: whether it covers the file.
func reaches(t *testing.T, sentence, file string) bool {
	t.Helper()
	rest, ok := strings.CutPrefix(sentence, "any call of write for ")
	require.True(t, ok, sentence)
	if one, ok := strings.CutPrefix(rest, "the file "); ok {
		one, _, _ = strings.Cut(one, ",")
		return file == one
	}
	folder, ok := strings.CutPrefix(rest, "any file below the folder ")
	require.True(t, ok, sentence)
	folder, said, ok := strings.Cut(folder, " and its folders, ")
	require.True(t, ok, sentence)
	require.Contains(t, said, "build files and scripts included, hidden files and links excepted, whatever it writes")
	return strings.HasPrefix(file, folder+"/") && !strings.Contains(file, "/.") && !strings.Contains(file, "link")
}

// TestAnOfferReachesAsFarAsItSays: a client of the daemon remembers an answer by its
// sentence. Then the daemon asks about exactly the files that the sentence does not
// cover, and so does another process, and the list shows that sentence.
func TestAnOfferReachesAsFarAsItSays(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	for _, tt := range []struct{ asked, kind string }{
		{"notes.txt", "file"}, {"src/a.txt", "file"}, {"src/a.txt", "folder"}, {"src/deep/c.txt", "folder"},
	} {
		t.Run(tt.kind+" of "+tt.asked, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			project := filepath.Join(s.dir, "project")
			require.NoError(t, os.WriteFile(filepath.Join(s.dir, "model.yaml"), []byte(offerModel()), 0o600))
			require.NoError(t, os.Mkdir(filepath.Join(project, "src"), 0o700))
			require.NoError(t, os.Symlink("..", filepath.Join(project, "src", "link")))
			require.NoError(t, os.Symlink("Makefile", filepath.Join(project, "link.txt")))
			s.start()
			conv, err := s.client.Conversation(t.Context(), "", "ann")
			require.NoError(t, err)

			sentence := s.remember(conv.ID, tt.asked, tt.kind+"-project")
			refuse := wire.Answer{Answer: wire.AnswerRefuse}
			for _, file := range offeredFiles {
				by := ""
				for _, ev := range s.turn(conv.ID, "<"+file+">", &refuse) {
					if ev.Kind == event.ApprovalGiven {
						by = ev.Detail().By
					}
				}
				want := map[bool]string{true: "Approval.rule", false: "Approval.api"}[reaches(t, sentence, file)]
				assert.Equal(t, want, by, "%s, where the answer was to: %s", file, sentence)
			}
			assert.Contains(t, s.output("approvals", "list", "--all"), "  "+sentence+"\n")
			assert.Contains(t, s.output("approvals", "list", "--all", "--json"), `"text": "`+sentence+`"`)
			for _, file := range offeredFiles {
				out := s.output("run", "--dir", project, "--model", "script:"+filepath.Join(s.dir, "model.yaml"), "<"+file+">")
				assert.Equal(t, reaches(t, sentence, file), strings.Contains(out, "asks first: allowed, as was remembered"), "%s: %s", file, out)
			}
		})
	}
}

// remember runs a turn that writes the file, approves it with the offer, and returns
// the offer's sentence. No offer names a file by more than what was shown.
func (s *site) remember(conv, file, offer string) (sentence string) {
	t, ctx := s.t, s.t.Context()
	turn, err := s.client.Send(ctx, conv, "<"+file+">")
	require.NoError(t, err)
	for item, err := range s.client.Follow(ctx, turn) {
		require.NoError(t, err)
		if item.Event.Kind != event.ApprovalAsked {
			continue
		}
		asks, err := s.client.Asks(ctx, conv)
		require.NoError(t, err)
		require.Len(t, asks, 1)
		for _, o := range asks[0].Offers {
			if o.ID == offer {
				sentence = o.Text
			}
			if filepath.Dir(file) == "." {
				assert.NotContains(t, o.Text, "folder", "nobody was shown more than a file in the project's root")
			}
		}
		require.NotEmpty(t, sentence, "%+v", asks[0].Offers)
		require.NoError(t, s.client.Answer(ctx, asks[0].ID, wire.Answer{Answer: wire.AnswerApprove, Remember: offer}))
	}
	return sentence
}

// output runs the program, with nobody to ask, and returns what it writes.
func (s *site) output(args ...string) string {
	t := s.t
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	out, err := os.CreateTemp(s.dir, "output")
	require.NoError(t, err)
	root := (newCommand(null, out, out, s.getenv)).root()
	root.SetArgs(args)
	require.NoError(t, root.ExecuteContext(t.Context()), args)
	data, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	require.NoError(t, null.Close())
	require.NoError(t, out.Close())
	return string(data)
}
