package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/monitor"
)

// The forms of a log.
const (
	LogPlain = "plain" // sentences for people, without times
	LogText  = "text"  // a line of time, level, msg and attributes, as key=value
	LogJSON  = "json"  // an object with the same members a line
)

// LogOptions say how a log is written.
type LogOptions struct {
	// Level is the lowest level that is written: debug, info, warn or error; "" is info.
	Level string
	// Form is LogPlain, LogText or LogJSON; "" is LogPlain.
	Form string
	// Note gets the sentences of LogPlain, and To the lines of the others, which are whole in each write.
	Note func(text string)
	To   io.Writer
	// Mask masks all texts until the daemon is open, which masks them from then on; nil masks nothing.
	Mask func(text string) string
}

// Log is what a daemon tells those who run it. Its level can be changed while it runs. It is safe for concurrent use.
type Log struct {
	level  slog.LevelVar
	logger *slog.Logger
	mask   atomic.Pointer[func(string) string]
}

// NewLog returns a log. The error names the option that is wrong.
func NewLog(o LogOptions) (*Log, error) {
	l := &Log{}
	switch o.Level {
	case "", "info":
	case "debug", "warn", "error":
		_ = l.level.UnmarshalText([]byte(o.Level)) // one of its names
	default:
		return nil, fmt.Errorf("--log-level %.20q is no level; write debug, info, warn or error", o.Level)
	}
	options := &slog.HandlerOptions{Level: &l.level}
	switch o.Form {
	case "", LogPlain:
		l.logger = slog.New(plain{&l.level, o.Note})
	case LogText:
		l.logger = slog.New(slog.NewTextHandler(o.To, options))
	case LogJSON:
		l.logger = slog.New(slog.NewJSONHandler(o.To, options))
	default:
		return nil, fmt.Errorf("--log-format %.20q is not known; write %s, %s or %s", o.Form, LogPlain, LogText, LogJSON)
	}
	l.masks(o.Mask)
	return l, nil
}

// masks replaces what masks the texts; nil masks nothing.
func (l *Log) masks(mask func(string) string) {
	if mask == nil {
		mask = func(text string) string { return text }
	}
	l.mask.Store(&mask)
}

func (l *Log) write(level slog.Level, text string, attrs ...slog.Attr) {
	l.logger.LogAttrs(context.Background(), level, (*l.mask.Load())(text), attrs...)
}

// Note writes a sentence about something odd that is no error, as a warning.
func (l *Log) Note(text string) { l.write(slog.LevelWarn, text) }

// info writes a sentence about something that the daemon did.
func (l *Log) info(text string) { l.write(slog.LevelInfo, text) }

// reloading writes what a reload has done.
func (l *Log) reloading(reload func(context.Context) (wire.Reloaded, error)) func(context.Context) (wire.Reloaded, error) {
	return func(ctx context.Context) (wire.Reloaded, error) {
		done, err := reload(ctx)
		if err == nil {
			l.info(fmt.Sprintf("the agents are reloaded: %d added, %d updated, %d removed, %d refused; %d settings of other files need a restart",
				len(done.Added), len(done.Updated), len(done.Removed), len(done.Refused), len(done.Settings)))
		}
		return done, err
	}
}

// answered writes that a request was answered: an error if the daemon failed, and else for who looks for something.
func (l *Log) answered(r monitor.Request) {
	level := slog.LevelDebug
	if r.Status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	l.write(level, "request", slog.String("method", r.Method), slog.String("route", r.Route), slog.Int("status", r.Status),
		slog.Float64("ms", float64(r.Took.Round(10*time.Microsecond))/1e6), slog.String("token", (*l.mask.Load())(r.Token)))
}

// plain writes sentences without times and levels.
type plain struct {
	level slog.Leveler
	note  func(text string)
}

var _ slog.Handler = plain{}

// Enabled implements slog.Handler.
func (p plain) Enabled(_ context.Context, level slog.Level) bool { return level >= p.level.Level() }

// Handle implements slog.Handler.
func (p plain) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	p.note(text)
	return nil
}

// WithAttrs implements slog.Handler. A Log has no attributes of its own.
func (p plain) WithAttrs([]slog.Attr) slog.Handler { return p }

// WithGroup implements slog.Handler. A Log has no groups.
func (p plain) WithGroup(string) slog.Handler { return p }
