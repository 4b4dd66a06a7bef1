package sensitive

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// around are places where a token stands.
var around = []string{
	"%s", "the token is %s.", "KEY=%s\n", `{"key": "%s"}`, `{\"key\":\"%s\"}`, "curl -H 'X-Key: %s' https://api.vendor.example", "https://vendor.example/?key=%s&x=1",
	"a\tb\t%s\tc", "„%s“", "(%s)", "<token>%s</token>", "key: %s # mine", "`%s`", "--token=%s", "%s,%s",
}

// TestEveryFamilyIsFound: 20 tokens of each form, in every surrounding. Nothing of them is left.
func TestEveryFamilyIsFound(t *testing.T) {
	t.Parallel()
	d := New(nil)
	type form struct{ kind, pattern string }
	var forms []form
	kinds := map[string]bool{}
	for _, f := range families {
		for _, begin := range f.begins {
			forms = append(forms, form{f.name, regexp.QuoteMeta(begin) + `(?:` + f.rest + `)`})
		}
		kinds[f.name] = true
	}
	for _, f := range inner {
		forms = append(forms, form{f.name, f.form})
		kinds[f.name] = true
	}
	assert.GreaterOrEqual(t, len(kinds), 60)
	tried, found := 0, 0
	for _, f := range forms {
		token := rapid.StringMatching(f.pattern)
		for seed := range 20 {
			secret := token.Example(seed)
			if len(secret) > longest/2 || !isWord[secret[len(secret)-1]] { // what ends in a sign may end before it
				continue
			}
			for _, place := range around {
				text := fmt.Sprintf(place, secret)
				if place == "%s,%s" {
					text = secret + "," + secret
				}
				tried++
				all := d.Find(text)
				if len(all) > 0 && text[all[0].Start:all[0].End] == secret {
					found++
				} else if seed == 0 {
					t.Logf("%s in %.30q: %v", f.kind, place, all)
				}
			}
		}
	}
	t.Logf("FIGURE recall=%.4f of %d tokens of %d families", float64(found)/float64(tried), tried, len(kinds))
	assert.Greater(t, float64(found), 0.95*float64(tried))
}
