// Package sensitive finds secrets and personal data in text, and masks them.
//
// A secret is found by its form: a token of a vendor, which begins with letters of its own or
// has them at a known place; a private key; a password in a URL or in a header; or a value that
// looks random behind a name such as password or api_key. Where a form has a checksum or a fixed
// alphabet, it counts. Personal data are what Presidio finds without a dictionary, by pattern and
// checksum: addresses of mail, networks and payment, numbers of cards, accounts and telephones.
//
// What is found does not depend on how a text is cut into pieces: nothing but a private key goes over
// the end of a line, and long lines are looked at in parts that overlap, at fixed places.
//
// A finding says what was found and where, never the value.
package sensitive
