package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/attach"
)

func filesFlag(cmd *cobra.Command, to *[]string) {
	cmd.Flags().StringArrayVar(to, "attach", nil, "a file that the model reads with the prompt: an image, a PDF, audio or text; may be repeated")
}

// inputOf returns the prompt with the files.
func inputOf(prompt string, paths []string) (message.Input, error) {
	if len(paths) > attach.MaxFiles {
		return message.Input{}, fmt.Errorf("--attach names %d files; a message has at most %d: tell the agent to read the others", len(paths), attach.MaxFiles)
	}
	files := make([]message.Block, len(paths))
	for i, path := range paths {
		var err error
		if _, files[i], err = attach.Read(path); err != nil {
			return message.Input{}, err
		}
	}
	return attach.Input(prompt, files), nil
}

// filesOf returns the files as the API takes them.
func filesOf(paths []string) ([]wire.File, error) {
	files := make([]wire.File, len(paths))
	for i, path := range paths {
		data, _, err := attach.Read(path) // the daemon makes the block
		if err != nil {
			return nil, err
		}
		files[i] = wire.File{Name: filepath.Base(path), Data: data}
	}
	return files, nil
}
