//go:build linux && !amd64

package main

import (
	"errors"
	"io"
)

func oldABI(io.Writer, []string) error { return errors.ErrUnsupported }
func x32(io.Writer, []string) error    { return errors.ErrUnsupported }
