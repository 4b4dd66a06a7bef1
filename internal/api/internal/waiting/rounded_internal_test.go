package waiting

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRounded(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: false, `{"a":"12345678901234567890"}`: false, `{"a":[0,-0,0.0,1,-1.50,1e2,1E+2,100000,0.1,1e21,1.7976931348623157e308,5e-324]}`: false,
		`9007199254740992`:                      false,
		`9007199254740993`:                      true, // 2^53+1
		`{"a":{"b":[1,0.1000000000000000055]}}`: true,
		`1.00000000000000000001`:                true,
		`12345678901234567890`:                  true,
		`12345678901234567000`:                  false, // a browser writes just that
		`1e309`:                                 true,
		`1e-400`:                                true,
		`0e999999999999999999999`:               false,
		`1e-999999999999999999999`:              true,
		`[1.0000000000000001e0, 1]`:             true,
	} {
		assert.Equal(t, want, rounded(text), text)
	}
}
