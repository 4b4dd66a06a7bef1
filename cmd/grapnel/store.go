package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/nodes"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/jobs/river"
)

// storeFlags say where a daemon keeps everything, and how it is one of several there.
type storeFlags struct {
	dsn     string
	between daemon.Between
	node    app.Node
}

func (f *storeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dsn, "store", "", "keep everything in this PostgreSQL database, which several daemons may share: postgres://USER@HOST/DATABASE?sslmode=verify-full; "+
		"the password is in $PGPASSWORD or in the file $PGPASSFILE (default: $"+app.DatabaseVariable+", or files in the state directory)")
	cmd.Flags().StringVar(&f.between.Listen, "node-listen", "", "with --store: listen for the daemons of other machines on this address, such as 10.0.0.5:7780 (default: a unix socket for those of this machine)")
	cmd.Flags().StringVar(&f.between.URL, "node-url", "", "where the others reach it (default: https:// with the address of --node-listen)")
	cmd.Flags().StringVar(&f.between.Cert, "node-cert", "", "the certificate for --node-listen, for servers and clients, in PEM")
	cmd.Flags().StringVar(&f.between.Key, "node-key", "", "the key of that certificate, in PEM")
	cmd.Flags().StringVar(&f.between.CA, "node-ca", "", "the authority of the certificates of all nodes, in PEM")
	cmd.Flags().DurationVar(&f.node.TTL, "node-ttl", nodes.DefaultTTL, "how long after its last sign of life the others take over what this daemon runs")
	cmd.Flags().DurationVar(&f.node.Beat, "node-beat", 0, "how often it gives a sign of life (default: a third of --node-ttl)")
	cmd.MarkFlagsRequiredTogether("node-listen", "node-cert", "node-key", "node-ca")
}

// into puts the database into the paths.
func (f *storeFlags) into(paths *app.Paths) error {
	if err := database(paths, "--store", f.dsn); err != nil {
		return err
	}
	switch {
	case paths.Database == "" && (f.between != (daemon.Between{}) || f.node.TTL != nodes.DefaultTTL || f.node.Beat != 0):
		return errors.New("--node-listen, its certificates, --node-ttl and --node-beat are for daemons over one database; name it with --store")
	case f.between.URL != "" && f.between.Listen == "":
		return errors.New("--node-url is where other machines reach --node-listen; give that as well, or leave it out")
	}
	f.node.Deliver = byRiver
	return nil
}

// byRiver makes River deliver the jobs of a database.
func byRiver(ctx context.Context, j app.SharedJobs) (func(*runtime.JobWork) runtime.JobEngine, error) {
	return river.Open(ctx, river.Options{Store: j.Store, TTL: j.TTL, Mask: j.Mask, Tenant: j.Tenant})
}

// database puts the DSN of the flag, if it was given, into the paths.
func database(paths *app.Paths, flag, dsn string) error {
	if dsn == "" {
		return nil
	}
	if pgdb.HasPassword(dsn) {
		return errors.New(flag + " has a password, which everybody on this machine sees in the list of processes; leave it out, and put it into $PGPASSWORD, or into a file that $PGPASSFILE names, or give the whole in $" + app.DatabaseVariable)
	}
	if err := pgdb.CheckDSN(dsn); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	paths.Database = dsn
	return nil
}
