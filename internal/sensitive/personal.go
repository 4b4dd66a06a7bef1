package sensitive

import (
	"crypto/sha256"
	"math/big"
	"net/netip"
	"regexp"
	"strings"
)

// The kinds of personal data.
const (
	kindEmail  = "email"
	kindCard   = "card-number"
	kindIBAN   = "iban"
	kindIP     = "ip-address"
	kindMAC    = "mac-address"
	kindPhone  = "phone-number"
	kindWallet = "crypto-wallet"
	kindSSN    = "us-ssn"
)

func personalKinds() []string {
	return []string{kindEmail, kindCard, kindIBAN, kindIP, kindMAC, kindPhone, kindWallet, kindSSN}
}

// rule is a kind of personal data: a form, and what a checksum or a registry says of it.
type rule struct {
	kind string
	form *regexp.Regexp
	// needs is a byte without which there is none; 0 is any digit.
	needs byte
	is    func(s string) bool
}

var rules = []rule{
	{kindEmail, regexp.MustCompile(`[0-9A-Za-z._%+-]{1,64}@(?:[0-9A-Za-z-]{1,63}\.){1,8}[A-Za-z]{2,24}`), '@', mailAddress},
	{kindMAC, regexp.MustCompile(`[0-9A-Fa-f]{2}(?:(?::[0-9A-Fa-f]{2}){5}|(?:-[0-9A-Fa-f]{2}){5})`), 0, notAllSame},
	{kindIP, regexp.MustCompile(`(?:[0-9]{1,3}\.){3}[0-9]{1,3}`), '.', publicAddress},
	{kindIP, regexp.MustCompile(`[0-9A-Fa-f]{1,4}:[0-9A-Fa-f:]{2,34}[0-9A-Fa-f]`), ':', publicAddress},
	{kindIBAN, regexp.MustCompile(`[A-Z]{2}[0-9]{2}(?: ?[0-9A-Z]{4}){2,7}(?: ?[0-9A-Z]{1,3})?`), 0, iban},
	{kindSSN, regexp.MustCompile(`[0-9]{3}-[0-9]{2}-[0-9]{4}`), '-', ssn},
	{kindCard, regexp.MustCompile(`[0-9](?:[ -]?[0-9]){12,18}`), 0, card},
	{kindPhone, regexp.MustCompile(`\+[1-9][0-9]{0,2}(?:[ .()/-]{0,2}[0-9]){6,13}`), '+', nil},
	{kindWallet, regexp.MustCompile(`[13][1-9A-HJ-NP-Za-km-z]{25,34}`), 0, base58},
	{kindWallet, regexp.MustCompile(`bc1[02-9ac-hj-np-z]{11,87}`), 'b', bech32},
	{kindWallet, regexp.MustCompile(`0x[0-9A-Fa-f]{40}`), 'x', notAllSame},
}

// personal appends personal data.
func (d *Detector) personal(out []Finding, s string) []Finding {
	if !strings.ContainsAny(s, "0123456789@") {
		return out
	}
	for _, r := range rules {
		if r.needs != 0 && strings.IndexByte(s, r.needs) < 0 || !d.wants(r.kind) {
			continue
		}
		for _, m := range r.form.FindAllStringIndex(s, -1) {
			alone := (m[0] == 0 || !isWord[s[m[0]-1]] && s[m[0]-1] != '.') && ends(s, m[1]) && !goesOn(s[m[1]:])
			if alone && (r.is == nil || r.is(s[m[0]:m[1]])) {
				out = append(out, Finding{m[0], m[1], Personal, r.kind})
			}
		}
	}
	return out
}

// goesOn reports whether a number goes on behind its form, as in 1.2.3.4.5.
func goesOn(s string) bool { return len(s) > 1 && s[0] == '.' && s[1] >= '0' && s[1] <= '9' }

// reserved are the domains for examples (RFC 2606, RFC 6761).
var reserved = []string{"example.com", "example.org", "example.net", ".example", ".test", ".invalid", ".localhost"}

func mailAddress(s string) bool {
	if strings.HasPrefix(s, "git@") { // the name by which one reaches a repository
		return false
	}
	for _, end := range reserved {
		if strings.HasSuffix(strings.ToLower(s), end) {
			return false
		}
	}
	return true
}

func notAllSame(s string) bool { return strings.Trim(s, s[len(s)-1:]+":-x0") != "" }

// publicAddress reports whether the address is one that belongs to somebody.
func publicAddress(s string) bool {
	a, err := netip.ParseAddr(s)
	if err != nil || !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, net := range documentation {
		if net.Contains(a) {
			return false
		}
	}
	return true
}

// documentation are the networks for examples (RFC 5737, RFC 3849), and that of versions and this host, 0.0.0.0/8.
var documentation = []netip.Prefix{
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("0.0.0.0/8"),
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// card checks the number's length, its issuer and its check digit (ISO/IEC 7812).
func card(s string) bool {
	n := digits(s)
	if len(n) < 13 || len(n) > 19 || !strings.ContainsRune("3456", rune(n[0])) || strings.Trim(n, n[:1]) == "" {
		return false
	}
	sum := 0
	for i := range len(n) {
		v := int(n[len(n)-1-i] - '0')
		if i%2 == 1 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

// iban checks the remainder by 97 (ISO 13616).
func iban(s string) bool {
	s = strings.ReplaceAll(s, " ", "")
	if len(s) < 15 || len(s) > 34 {
		return false
	}
	rest := 0
	for _, r := range s[4:] + s[:4] {
		if r >= 'A' {
			rest = (rest*100 + int(r-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(r-'0')) % 97
		}
	}
	return rest == 1
}

// ssn checks the parts that were never given out (Social Security Administration).
func ssn(s string) bool {
	return s[:3] != "000" && s[:3] != "666" && s[0] != '9' && s[4:6] != "00" && s[7:] != "0000"
}

const base58Letters = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// base58 checks the checksum of an address of Bitcoin: the first four bytes of a double SHA-256.
func base58(s string) bool {
	n, base := new(big.Int), big.NewInt(58)
	for _, r := range s {
		n.Mul(n, base).Add(n, big.NewInt(int64(strings.IndexRune(base58Letters, r))))
	}
	data := n.Bytes()
	for _, r := range s {
		if r != '1' {
			break
		}
		data = append([]byte{0}, data...)
	}
	if len(data) != 25 {
		return false
	}
	first := sha256.Sum256(data[:21])
	second := sha256.Sum256(first[:])
	return string(second[:4]) == string(data[21:])
}

const bech32Letters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// bech32 checks the checksum of BIP 173 and BIP 350.
func bech32(s string) bool {
	sum := uint32(1)
	step := func(v byte) {
		top := sum >> 25
		sum = (sum&0x1ffffff)<<5 ^ uint32(v)
		for i, g := range []uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	for _, v := range []byte{'b' >> 5, 'c' >> 5, 0, 'b' & 31, 'c' & 31} {
		step(v)
	}
	for i := len("bc1"); i < len(s); i++ {
		step(byte(strings.IndexByte(bech32Letters, s[i])))
	}
	return sum == 1 || sum == 0x2bc830a3
}
