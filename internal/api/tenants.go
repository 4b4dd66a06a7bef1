package api

import (
	"context"
	"net/http"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/tenant"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Tenants say whose server this is, and who the others are. Nil functions do nothing.
type Tenants struct {
	// Owner is the owner whose tenant of the project this is; "" is the user of the socket.
	Owner string
	// Server returns the server of another owner, which answers until done is called. Nil: there is no other.
	Server func(ctx context.Context, owner string) (of *Server, done func(), err error)
	// Active returns what the other tenants do, for who administers the daemon.
	Active func(ctx context.Context) []wire.ActiveTenant
	// Admit is asked before a turn begins that a caller wants. Call done when it has begun, or when none has. Nil admits all.
	Admit func(ctx context.Context, conversation string) (done func(), err error)
}

// answer answers a request that was let in, or hands it to the server of the caller's owner.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, op operation) error {
	v := visitOf(r)
	switch {
	case v.caller.Owner == s.o.Tenants.Owner || op.need == public:
		if err := s.meant(v); err != nil {
			return err
		}
		return op.handle(w, r)
	case r.URL.Path == "/metrics" || r.URL.Path == "/v1/log":
		return forbidden("this is of the daemon, and the token " + v.caller.Name + " is of the owner " + v.caller.Owner + "; use a token without an owner")
	case s.o.Tenants.Server == nil:
		return forbidden("this daemon serves its own user only, and the token " + v.caller.Name + " is of the owner " + v.caller.Owner)
	}
	of, done, err := s.o.Tenants.Server(r.Context(), v.caller.Owner)
	if err != nil {
		return err
	}
	defer done()
	v.handed = true
	of.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, v)))
	return nil
}

// shows reports whether the conversation is one of this owner's projects: what another owner has is not there for anybody.
func (s *Server) shows(rec store.Record) bool {
	return tenant.Parse(rec.Key.Project).Owner == s.o.Tenants.Owner
}

// admit asks whether a turn of the conversation may begin now. Call done when it has begun, or when none has. Turns that the daemon
// resumes by itself are admitted: nobody would begin them again.
func (s *Server) admit(ctx context.Context, conversation string) (done func(), err error) {
	if s.o.Tenants.Admit == nil || visitIn(ctx).caller.Owner != s.o.Tenants.Owner {
		return func() {}, nil
	}
	return s.o.Tenants.Admit(ctx, conversation)
}
