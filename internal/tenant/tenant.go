// Package tenant has the names of tenants. A tenant is a project together with the owner of the token by which
// somebody works in it: two owners in one project share its directory and nothing else.
package tenant

import (
	"fmt"
	"regexp"
	"strings"
)

// ID names a tenant. The zero value is none.
type ID struct {
	// Owner is "" for the daemon's own user.
	Owner string
	// Root is the directory of the project, an absolute path.
	Root string
}

// String returns the name of the tenant in stores: the root, or OWNER:ROOT. It is the Project of keys.
func (t ID) String() string {
	if t.Owner == "" {
		return t.Root
	}
	return t.Owner + ":" + t.Root
}

// Parse reads what String returns. Every text that names no owner is a root, also "".
func Parse(project string) ID {
	owner, root, found := strings.Cut(project, ":")
	if !found || !strings.HasPrefix(root, "/") || !ownerForm.MatchString(owner) {
		return ID{Root: project}
	}
	return ID{owner, root}
}

// ownerForm has no upper case, because an owner is a directory too, and no colon.
var ownerForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// CheckOwner returns an error unless the name can be that of an owner; "" is none.
func CheckOwner(name string) error {
	if !ownerForm.MatchString(name) {
		return fmt.Errorf("the owner %.70q: use 1 to 64 small letters, digits, dots, dashes or _, and begin with a letter or a digit", name)
	}
	return nil
}
