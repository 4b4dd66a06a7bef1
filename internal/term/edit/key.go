package edit

import (
	"bytes"
	"unicode/utf8"
)

// key is a key other than a character.
type key int

const (
	keyNone key = iota // an unknown key
	keyRune
	keyEnter
	keyNewline
	keyLeft
	keyRight
	keyUp
	keyDown
	keyHome
	keyEnd
	keyWordLeft
	keyWordRight
	keyBackspace
	keyDelete
	keyCutWord
	keyCutWordRight
	keyCutBlank
	keyCutStart
	keyCutEnd
	keyPutBack
	keyTab
	keyClear
	keyInterrupt
	keyEOF
	keySuspend
	keyPaste
)

const esc = 0x1b

var pasteEnd = []byte("\x1b[201~")

// control is the key of a control character.
func control(b byte) key {
	switch b {
	case '\r', '\n': // LF was typed before the terminal was in raw mode
		return keyEnter
	case 0x01:
		return keyHome
	case 0x02:
		return keyLeft
	case 0x03:
		return keyInterrupt
	case 0x04:
		return keyEOF
	case 0x05:
		return keyEnd
	case 0x06:
		return keyRight
	case 0x08, 0x7f:
		return keyBackspace
	case '\t':
		return keyTab
	case 0x0b:
		return keyCutEnd
	case 0x0c:
		return keyClear
	case 0x0e:
		return keyDown
	case 0x10:
		return keyUp
	case 0x15:
		return keyCutStart
	case 0x17:
		return keyCutBlank
	case 0x19:
		return keyPutBack
	case 0x1a:
		return keySuspend
	}
	return keyNone
}

// decode returns the first key in b and its length; 0 if the key is not complete.
func decode(b []byte) (k key, r rune, n int) {
	switch {
	case len(b) == 0:
		return keyNone, 0, 0
	case b[0] == esc:
		k, n = escape(b)
		return k, 0, n
	case b[0] < 0x20 || b[0] == 0x7f:
		return control(b[0]), 0, 1
	case !utf8.FullRune(b):
		return keyNone, 0, 0
	}
	r, n = utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		return keyNone, 0, 1
	}
	return keyRune, r, n
}

func escape(b []byte) (key, int) {
	if len(b) < 2 {
		return keyNone, 0
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return csi(b[2:i], b[i]), i + 1
			}
			if b[i] < 0x20 { // broken off
				return keyNone, i
			}
		}
		return keyNone, 0
	case 'O':
		if len(b) < 3 {
			return keyNone, 0
		}
		return csi(nil, b[2]), 3
	case '\r', '\n':
		return keyNewline, 2
	case 'b':
		return keyWordLeft, 2
	case 'f':
		return keyWordRight, 2
	case 'd':
		return keyCutWordRight, 2
	case 0x08, 0x7f:
		return keyCutWord, 2
	case esc:
		return keyNone, 1
	}
	return keyNone, 2
}

// csi decodes a control sequence: its parameters and its last byte.
func csi(parameters []byte, last byte) key {
	first, modifier, _ := bytes.Cut(parameters, []byte(";"))
	modified := len(modifier) > 0 && modifier[0] != '1'
	switch last {
	case 'A':
		return keyUp
	case 'B':
		return keyDown
	case 'C':
		if modified {
			return keyWordRight
		}
		return keyRight
	case 'D':
		if modified {
			return keyWordLeft
		}
		return keyLeft
	case 'H':
		return keyHome
	case 'F':
		return keyEnd
	case 'u': // Enter with a modifier, from terminals that report it
		if string(first) == "13" && modified {
			return keyNewline
		}
	case '~':
		switch string(first) {
		case "1", "7":
			return keyHome
		case "4", "8":
			return keyEnd
		case "3":
			return keyDelete
		case "200":
			return keyPaste
		}
	}
	return keyNone
}
