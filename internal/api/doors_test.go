package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// tcp is a daemon with a door over TCP.
type tcp struct {
	*world
	url    string
	tokens *access.Tokens
}

func newTCP(t *testing.T, o worldOptions) *tcp {
	t.Helper()
	d := &tcp{tokens: access.OpenTokens(filepath.Join(t.TempDir(), "tokens.json"))}
	ln, door, err := access.Listen(t.Context(), "127.0.0.1:0", nil, nil, access.NewGate(d.tokens, o.api.Project, func(string) {}))
	require.NoError(t, err)
	o.api.Doors = []api.Door{{Listener: ln, Door: door}}
	d.url, d.world = door.URL, newWorld(t, &o)
	return d
}

// token makes a token with scopes.
func (d *tcp) token(name, scopes string, projects ...string) string {
	d.t.Helper()
	parsed, err := access.Parse(scopes)
	require.NoError(d.t, err)
	text, err := d.tokens.Create(access.Token{Name: name, Scopes: parsed, Projects: projects})
	require.NoError(d.t, err)
	return text
}

// request is a request of the matrix.
type request struct {
	method, path, body string
	header             http.Header
	host               string
}

// status sends a request over TCP and returns the status of the answer.
func (d *tcp) status(r request) int {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), r.method, d.url+r.path, strings.NewReader(r.body))
	require.NoError(d.t, err)
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	req.Host = r.host
	req.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	require.NoError(d.t, err)
	defer resp.Body.Close()
	d.contract.check(resp, []byte(r.body))
	assert.Empty(d.t, resp.Header.Get("Access-Control-Allow-Origin"))
	if resp.StatusCode == http.StatusUnauthorized {
		assert.Equal(d.t, "Bearer", resp.Header.Get("WWW-Authenticate"))
	}
	return resp.StatusCode
}

// TestDoorHeaders: what a browser or a name that points here could send, in all combinations, with a token that may do everything. Only
// requests for the server's own names, from its own pages or from no page, get through.
func TestDoorHeaders(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{})
	own := strings.TrimPrefix(d.url, "http://")
	_, port, err := net.SplitHostPort(own)
	require.NoError(t, err)
	hosts := map[string]bool{
		own: true, "localhost:" + port: true, "LOCALHOST:" + port: true, "[::1]:" + port: true,
		"localhost": false, "127.0.0.1": false, "evil.example:" + port: false, "localhost.evil.example:" + port: false, "grapnel": false, "0.0.0.0:" + port: false,
	}
	const none = "-"
	rows, through := 0, 0
	for host, good := range hosts {
		token := "Bearer " + d.token(fmt.Sprintf("t%d", rows), "read,converse,approve,administer")
		self := "http://" + strings.ToLower(host)
		for origin, fine := range map[string]bool{none: true, self: true, "": false, "null": false, "https://" + host: false, "https://evil.example": false} {
			for referer, from := range map[string]bool{none: true, self + "/x": true, "https://evil.example/x": false, self + ".evil.example/": false} {
				for site, same := range map[string]bool{none: true, "same-origin": true, "none": true, "same-site": false, "cross-site": false} {
					h := http.Header{"Authorization": {token}}
					for name, value := range map[string]string{"Origin": origin, "Referer": referer, "Sec-Fetch-Site": site} {
						if value != none {
							h[name] = []string{value}
						}
					}
					want := http.StatusForbidden
					if good && fine && from && same {
						want = http.StatusOK
						through++
					}
					got := d.status(request{method: "POST", path: "/v1/conversations", body: `{"sender":"x"}`, header: h, host: host})
					require.Equal(t, want, got, "host %q origin %q referer %q site %q", host, origin, referer, site)
					rows++
				}
			}
		}
	}
	assert.Equal(t, 10*6*4*5, rows)
	assert.Equal(t, 4*2*2*3, through)
	all, err := d.store.List(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 1)
}

// TestDoorCallers: what each kind of caller may do, and that what is refused changes nothing.
func TestDoorCallers(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{api: api.Options{Project: "/mine"}})
	expired, err := d.tokens.Create(access.Token{Name: "expired", Scopes: access.All(), Expires: time.Now().Add(-time.Second)})
	require.NoError(t, err)
	revoked := d.token("revoked", "read,converse,approve,administer")
	_, err = d.tokens.Revoke("revoked")
	require.NoError(t, err)
	read := d.token("reader", "read", "/mine")
	bearer := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	cookie := func(h http.Header) http.Header {
		link, err := d.client.Link(t.Context(), wire.NewLink{Scopes: []string{"read", "converse"}})
		require.NoError(t, err)
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(must(http.NewRequestWithContext(t.Context(), "GET", link.URLs[0], nil)))
		require.NoError(t, err)
		d.contract.check(resp, nil)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusSeeOther, resp.StatusCode)
		h.Set("Cookie", strings.SplitN(resp.Header.Get("Set-Cookie"), ";", 2)[0])
		assert.Contains(t, resp.Header.Get("Set-Cookie"), "HttpOnly; SameSite=Strict")
		again, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(must(http.NewRequestWithContext(t.Context(), "GET", link.URLs[0], nil)))
		require.NoError(t, err)
		require.NoError(t, again.Body.Close())
		assert.Equal(t, http.StatusForbidden, again.StatusCode, "a link is used once")
		return h
	}
	callers := []struct {
		name string
		h    http.Header
		// want has the answers to what needs read, converse, approve, administer, and nothing.
		want [5]int
	}{
		{"nobody", http.Header{}, [5]int{401, 401, 401, 401, 204}},
		{"no token", bearer("x"), [5]int{401, 401, 401, 401, 204}},
		{"a token of nobody", bearer("grapnel_abcdefghij_" + strings.Repeat("a", 26)), [5]int{401, 401, 401, 401, 204}},
		{"the id with another secret", bearer(read[:len(read)-1] + "!"), [5]int{401, 401, 401, 401, 204}},
		{"an empty secret", bearer(read[:strings.LastIndex(read, "_")+1]), [5]int{401, 401, 401, 401, 204}},
		{"expired", bearer(expired), [5]int{401, 401, 401, 401, 204}},
		{"revoked", bearer(revoked), [5]int{401, 401, 401, 401, 204}},
		{"basic", http.Header{"Authorization": {"Basic " + read}}, [5]int{401, 401, 401, 401, 204}},
		{"twice", http.Header{"Authorization": {"Bearer " + read, "Bearer " + read}}, [5]int{401, 401, 401, 401, 204}},
		{"for another project", bearer(d.token("other", "read,converse,approve,administer", "/theirs")), [5]int{403, 403, 403, 403, 204}},
		{"read", bearer(read), [5]int{200, 403, 403, 403, 204}},
		{"converse", bearer(d.token("talker", "converse")), [5]int{403, 200, 403, 403, 204}},
		{"approve", bearer(d.token("approver", "approve")), [5]int{403, 403, 404, 403, 204}},
		{"administer", bearer(d.token("admin", "administer")), [5]int{403, 403, 403, 404, 204}},
		{"everything", bearer(d.token("root", "read,converse,approve,administer")), [5]int{200, 200, 404, 404, 204}},
		{"a page", cookie(http.Header{"Origin": {d.url}}), [5]int{200, 200, 403, 403, 204}},
		{"a page that does not say its origin", cookie(http.Header{}), [5]int{200, 403, 403, 403, 204}},
	}
	for _, c := range callers {
		for i, r := range []request{
			{method: "GET", path: "/v1/agents"},
			{method: "POST", path: "/v1/conversations", body: `{"sender":"` + c.name + `"}`},
			{method: "POST", path: "/v1/asks/x", body: `{"answer":"approve"}`},
			{method: "DELETE", path: "/v1/agents/nobody"},
			{method: "DELETE", path: "/v1/session"},
		} {
			r.header = c.h
			assert.Equal(t, c.want[i], d.status(r), "%s: %s %s", c.name, r.method, r.path)
		}
	}
	all, err := d.store.List(t.Context())
	require.NoError(t, err)
	var senders []string
	for _, rec := range all {
		senders = append(senders, rec.Key.Sender)
	}
	assert.ElementsMatch(t, []string{"converse", "everything", "a page"}, senders)
}

func must(req *http.Request, err error) *http.Request {
	if err != nil {
		panic(err)
	}
	return req
}

// TestOtherProjects: who may see one project learns nothing of others, not even that a conversation is there.
func TestOtherProjects(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{api: api.Options{Project: "/mine"}})
	theirs, err := d.store.Conversation(t.Context(), store.Key{Project: "/theirs", Agent: "helper", Sender: "bob"})
	require.NoError(t, err)
	h := http.Header{"Authorization": {"Bearer " + d.token("mine", "read,converse,administer", "/mine")}}
	for _, r := range []request{
		{method: "GET", path: "/v1/conversations?all=1"}, {method: "GET", path: "/v1/search?q=x&all=1"},
	} {
		r.header = h
		assert.Equal(t, http.StatusForbidden, d.status(r), r.path)
	}
	for _, id := range []string{theirs.ID, "nothing"} {
		for _, r := range []request{
			{method: "GET", path: "/v1/conversations/" + id}, {method: "GET", path: "/v1/conversations/" + id + "/events"},
			{method: "POST", path: "/v1/conversations/" + id + "/adopt", body: `{}`},
			{method: "POST", path: "/v1/conversations/" + id + "/messages", body: `{"text":"x"}`},
		} {
			r.header = h
			assert.Equal(t, http.StatusNotFound, d.status(r), "%s %s", r.method, r.path)
		}
	}
}

// TestWhoMayOnlyConverse cannot approve what their own turn asks, and who approves by a token is named by it.
func TestWhoMayOnlyConverse(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{})
	talker := client.New(d.url, &client.Options{Token: d.token("talker", "read,converse")})
	approver := client.New(d.url, &client.Options{Token: d.token("ann.phone", "read,approve")})
	conv, err := talker.Conversation(t.Context(), "helper", "ann")
	require.NoError(t, err)
	turn, err := talker.Send(t.Context(), conv.ID, `call danger {"s":"x"}`)
	require.NoError(t, err)
	var asks []wire.Ask
	require.Eventually(t, func() bool {
		asks, err = talker.Asks(t.Context(), conv.ID)
		return err == nil && len(asks) == 1
	}, time.Minute, 5*time.Millisecond)
	err = talker.Answer(t.Context(), asks[0].ID, wire.Answer{Answer: "approve", By: "the boss"})
	assert.Equal(t, wire.CodeForbidden, client.CodeOf(err))
	assert.ErrorContains(t, err, "this needs the scope approve, and the token talker has read,converse")
	_, err = approver.Conversation(t.Context(), "helper", "ann")
	assert.Equal(t, wire.CodeForbidden, client.CodeOf(err))
	require.NoError(t, approver.Answer(t.Context(), asks[0].ID, wire.Answer{Answer: "approve", By: "the boss"}))
	by := ""
	for item, err := range talker.Follow(t.Context(), turn) {
		require.NoError(t, err)
		if item.Event.Kind == event.ApprovalGiven {
			by = item.Event.Detail().By
		}
	}
	assert.Equal(t, "Approval.the boss, by the token ann·phone", by)
	assert.Equal(t, []string{"x"}, d.box.ran)
}

// TestATurnCountsForItsToken: for its name, also when another turn runs first; a turn from the socket counts for nobody's.
func TestATurnCountsForItsToken(t *testing.T) {
	t.Parallel()
	names := make(chan string, 10)
	d := newTCP(t, worldOptions{api: api.Options{Start: func(ctx context.Context, conv *runtime.Conversation, in message.Input, o *runtime.TurnOptions) (*runtime.Turn, error) {
		names <- o.Token
		return conv.Start(ctx, in, o)
	}}})
	for name, c := range map[string]*client.Client{"phone": client.New(d.url, &client.Options{Token: d.token("phone", "read,converse")}), "": d.client} {
		conv, err := c.Conversation(t.Context(), "helper", "ann"+name)
		require.NoError(t, err)
		for _, when := range []wire.Busy{wire.BusyRefuse, wire.BusyQueue, wire.BusySteer} {
			turn, err := c.SendWhenBusy(t.Context(), conv.ID, "hello", when)
			require.NoError(t, err)
			assert.Equal(t, name, <-names)
			for _, err := range c.Follow(t.Context(), turn) {
				require.NoError(t, err)
			}
		}
	}
}

// TestNoScriptFromAfar: a model that is a script names a file of the daemon's user, so nobody names one over TCP, in no place.
func TestNoScriptFromAfar(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{})
	c := client.New(d.url, &client.Options{Token: d.token("all", "read,converse,approve,administer")})
	conv, err := c.Conversation(t.Context(), "helper", "ann")
	require.NoError(t, err)
	_, err = c.SendMessage(t.Context(), conv.ID, wire.NewMessage{Text: "x", Model: message.Model{Name: "script:/etc/passwd"}})
	assert.Equal(t, wire.CodeForbidden, client.CodeOf(err))
	assert.NotContains(t, err.Error(), "root")
	for _, a := range []wire.NewAgent{
		{Name: "a", Model: "script:/etc/passwd"}, {Name: "a", Sections: map[string]message.JSON{"fallback": `{"models":["script:/etc/passwd"]}`}},
		{Name: "a", Sections: map[string]message.JSON{"fallback": `{"models":[{"x":"\u0073cript:/etc/passwd"}]}`}},
	} {
		_, err = c.CreateAgent(t.Context(), a)
		assert.Equal(t, wire.CodeForbidden, client.CodeOf(err))
		_, err = d.client.CreateAgent(t.Context(), a)
		assert.NotEqual(t, wire.CodeForbidden, client.CodeOf(err), "over the socket")
	}
}

// TestALinkIsNotUsedByWhoLooksAhead: a browser that fetches what a person may follow leaves it usable.
func TestALinkIsNotUsedByWhoLooksAhead(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{})
	link, err := d.client.Link(t.Context(), wire.NewLink{})
	require.NoError(t, err)
	path := strings.TrimPrefix(link.URLs[0], d.url)
	for name, value := range map[string]string{"Sec-Purpose": "prefetch;prerender", "Purpose": "prefetch", "X-Moz": "prefetch"} {
		assert.Equal(t, http.StatusForbidden, d.status(request{method: "GET", path: path, header: http.Header{name: {value}}}), name)
	}
	assert.Equal(t, http.StatusSeeOther, d.status(request{method: "GET", path: path}))
}

// TestWhoMayNotApproveAllowsNothing: sections of an agent say what is asked, so they need the scope approve; without them none is needed.
func TestWhoMayNotApproveAllowsNothing(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{})
	c := client.New(d.url, &client.Options{Token: d.token("admin", "read,converse,administer")})
	_, err := c.CreateAgent(t.Context(), wire.NewAgent{Name: "a", Sections: map[string]message.JSON{"policy": `{"allow":["Danger"]}`}})
	assert.Equal(t, wire.CodeForbidden, client.CodeOf(err))
	_, err = c.CreateAgent(t.Context(), wire.NewAgent{Name: "a"})
	require.NoError(t, err)
	_, err = c.UpdateAgent(t.Context(), wire.NewAgent{Name: "a", Sections: map[string]message.JSON{"policy": `{"allow":["Danger"]}`}})
	assert.Equal(t, wire.CodeForbidden, client.CodeOf(err))
	// What restricts an agent is not left out either.
	_, err = d.client.CreateAgent(t.Context(), wire.NewAgent{Name: "careful", Sections: map[string]message.JSON{"policy": `{"deny":["danger"]}`}})
	require.NoError(t, err)
	_, err = c.UpdateAgent(t.Context(), wire.NewAgent{Name: "careful"})
	assert.Equal(t, wire.CodeForbidden, client.CodeOf(err))
	assert.Equal(t, wire.CodeForbidden, client.CodeOf(c.DeleteAgent(t.Context(), "careful")))
	require.NoError(t, c.DeleteAgent(t.Context(), "a"))
	_, err = d.client.UpdateAgent(t.Context(), wire.NewAgent{Name: "careful"})
	require.NoError(t, err)
}

// TestARevokedTokenBeginsNothing: also if it was revoked while its request was on the way.
func TestARevokedTokenBeginsNothing(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{})
	secret := d.token("phone", "read,converse")
	conv, err := client.New(d.url, &client.Options{Token: secret}).Conversation(t.Context(), "helper", "ann")
	require.NoError(t, err)
	body, out := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/v1/conversations/"+conv.ID+"/messages", body)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Content-Type", "application/json")
	go func() {
		_, _ = io.WriteString(out, `{"text":"he`)
		_, err := d.tokens.Revoke("phone")
		assert.NoError(t, err)
		_, _ = io.WriteString(out, `llo"}`)
		_ = out.Close()
	}()
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, http.StatusUnauthorized, resp.StatusCode)
}

// TestATokenThatIsRevokedWhileItsMessageWaits: the message does not begin its turn.
func TestATokenThatIsRevokedWhileItsMessageWaits(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{})
	conv := d.conversation("ann")
	holds, err := d.client.Send(t.Context(), conv.ID, `call danger {"s":"x"}`)
	require.NoError(t, err)
	gone := client.New(d.url, &client.Options{Token: d.token("gone", "read,converse")})
	queued := make(chan error, 1)
	go func() {
		_, err := gone.SendWhenBusy(t.Context(), conv.ID, "begun after the end", wire.BusyQueue)
		queued <- err
	}()
	require.Eventually(t, func() bool {
		now, err := d.client.Activity(t.Context())
		return err == nil && now.QueuedMessages == 1
	}, time.Minute, 5*time.Millisecond)
	_, err = d.tokens.Revoke("gone")
	require.NoError(t, err)
	_, err = d.client.Cancel(t.Context(), conv.ID)
	require.NoError(t, err)
	for _, err := range d.client.Follow(t.Context(), holds) {
		require.NoError(t, err)
	}
	assert.Equal(t, wire.CodeUnauthorized, client.CodeOf(<-queued))
}

// TestAllOfOneProject: a token for one project follows all of its conversations.
func TestAllOfOneProject(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{api: api.Options{Project: "/mine"}})
	c := client.New(d.url, &client.Options{Token: d.token("one", "read,converse", "/mine")})
	conv, err := c.Conversation(t.Context(), "helper", "ann")
	require.NoError(t, err)
	read := make(chan string, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		defer close(read)
		for item, err := range c.All().Items(ctx) {
			if !assert.NoError(t, err) || item.Event.Kind == event.TurnEnd {
				read <- item.Event.Conversation
				return
			}
		}
	}()
	for { // until it reads
		turn, err := c.Send(t.Context(), conv.ID, "hello")
		require.NoError(t, err)
		for _, err := range c.Follow(t.Context(), turn) {
			require.NoError(t, err)
		}
		select {
		case id := <-read:
			assert.Equal(t, conv.ID, id)
			return
		default:
		}
	}
}

// TestAStreamEndsWithItsToken: who is revoked reads no further, also while events come all the time.
func TestAStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{api: api.Options{Heartbeat: 20 * time.Millisecond}})
	req := must(http.NewRequestWithContext(t.Context(), "GET", d.url+"/v1/events", nil))
	req.Header.Set("Authorization", "Bearer "+d.token("reader", "read"))
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	_, err = lines.ReadString('\n')
	require.NoError(t, err)
	_, err = d.tokens.Revoke("reader")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, lines)
		ended <- err
	}()
	conv := d.conversation("ann")
	require.Eventually(t, func() bool {
		d.turn(conv.ID, "hello")
		select {
		case err := <-ended:
			assert.NoError(t, err)
			return true
		default:
			return false
		}
	}, time.Minute, time.Millisecond)
}
