package metrics

import "sync"

// DefaultLabels is how many tenants, and how many clients of sign-in, have a label value of their own; all further ones
// share otherLabel.
const (
	DefaultLabels = 200
	otherLabel    = "_other"
)

// names bounds the values of a label: the first names that come have one each.
type names struct {
	mu    sync.Mutex
	limit int
	seen  map[string]struct{}
}

var tenants, clients = newNames(), newNames()

func newNames() *names { return &names{limit: DefaultLabels, seen: map[string]struct{}{}} }

// LabelTenants sets how many tenants have a label value of their own. When more have one already, all begin again.
func LabelTenants(limit int) {
	tenants.mu.Lock()
	defer tenants.mu.Unlock()
	if tenants.limit = limit; len(tenants.seen) > limit {
		clear(tenants.seen)
	}
}

// hold reports whether so many names can have a label each.
func (n *names) hold(count int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return count <= n.limit
}

// value returns the label value of a name.
func (n *names) value(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.seen[name]; !ok && len(n.seen) >= n.limit {
		return otherLabel
	}
	n.seen[name] = struct{}{}
	return name
}

// known returns the label value of a name without giving it one of its own.
func (n *names) known(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.seen[name]; ok {
		return name
	}
	return otherLabel
}
