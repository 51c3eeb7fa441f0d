package metrics

import "sync"

// maxLabels bounds the tenants, and the clients, that have a label value of their own; all further ones share
// otherLabel.
const (
	maxLabels  = 200
	otherLabel = "_other"
)

// names bounds the values of a label: the first names that come have one each.
type names struct {
	mu   sync.Mutex
	seen map[string]struct{}
}

var tenants, clients = names{seen: map[string]struct{}{}}, names{seen: map[string]struct{}{}}

// value returns the label value of a name.
func (n *names) value(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.seen[name]; !ok && len(n.seen) >= maxLabels {
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
