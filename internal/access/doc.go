// Package access decides who may send a request to the daemon, and what they may do.
//
// The user of the unix socket may do everything. Over TCP a request needs a token, or the cookie of a page that was entered by a
// one-time link. A token has scopes, the projects that it is for, and an end; the daemon keeps a hash of it.
//
// Before that, a request over TCP has to be meant for this server: its Host is one of the names that the server has, so that no other
// name can be made to point here (DNS rebinding), and what a browser says of its page (Origin, Referer, Sec-Fetch-Site) names the
// server's own (OWASP, Cross-Site Request Forgery Prevention; W3C, Fetch Metadata). No answer allows another origin to read it.
package access
