package pgdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrUnverified: the DSN allows a connection to another machine that may be anybody.
var ErrUnverified = errors.New("the connection is not verified")

// connectWithin is how long a connection may take at most, so that a machine that does not answer
// is tried again soon.
const connectWithin = 5 * time.Second

// errDSN quotes nothing: a text that is no DSN may still have a password in it.
var errDSN = errors.New("the DSN cannot be read: write postgres://USER@HOST:5432/DATABASE?sslmode=verify-full, and put the password into PGPASSWORD or a file named by PGPASSFILE")

// CheckDSN returns an error if the DSN cannot be read, or allows what Open refuses. It asks nobody.
func CheckDSN(dsn string) error {
	_, _, err := configure(dsn, Options{})
	return err
}

// configure reads the DSN.
func configure(dsn string, o Options) (*pgxpool.Config, *pgx.ConnConfig, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, nil, errDSN
	}
	direct := config.ConnConfig.Copy()
	if o.Direct != "" {
		if direct, err = pgx.ParseConfig(o.Direct); err != nil {
			return nil, nil, fmt.Errorf("for notifications: %w", errDSN)
		}
	}
	for _, c := range []*pgx.ConnConfig{config.ConnConfig, direct} {
		if err := verified(c); err != nil && !o.Unverified {
			return nil, nil, err
		}
		if c.ConnectTimeout <= 0 || c.ConnectTimeout > connectWithin {
			c.ConnectTimeout = connectWithin
		}
		c.DialFunc, c.AfterConnect = dial, probe
		if c.RuntimeParams["application_name"] == "" {
			c.RuntimeParams["application_name"] = "grapnel"
		}
	}
	if o.Trace != nil {
		config.ConnConfig.Tracer = tracer{o.Trace}
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		config.MaxConns = mostConnections
	}
	if o.Connections > 0 {
		config.MaxConns = int32(min(o.Connections, 10_000)) //nolint:gosec // bounded
	}
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false } // what fails is retried
	return config, direct, nil
}

// verified returns an error if a host of the configuration is another machine and need not prove
// its name.
func verified(c *pgx.ConnConfig) error {
	if !local(c.Host) && (c.TLSConfig == nil || c.TLSConfig.InsecureSkipVerify) {
		return unverified(c.Host)
	}
	for _, f := range c.Fallbacks {
		if !local(f.Host) && (f.TLSConfig == nil || f.TLSConfig.InsecureSkipVerify) {
			return unverified(f.Host)
		}
	}
	return nil
}

func unverified(host string) error {
	return fmt.Errorf("%w: %s is another machine, and another program there, or between, could read and answer everything; "+
		"add sslmode=verify-full to the DSN, and sslrootcert=FILE if the certificate is of your own authority", ErrUnverified, host)
}

// local reports whether the host is a socket or a loopback address.
func local(host string) bool {
	if filepath.IsAbs(host) || strings.HasPrefix(host, "@") || host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// HasPassword reports whether the DSN has a password in it, which other users of the machine see
// where it stands on a command line.
func HasPassword(dsn string) bool {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return strings.Contains(dsn, "password") // the driver takes anything else for words, whatever they have in them
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return true // it may be in what cannot be read
	}
	_, set := u.User.Password()
	return set || u.Query().Has("password") || u.Query().Has("sslpassword")
}
