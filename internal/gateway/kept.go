package gateway

import "reflect"

// Kept returns what handlers keep for as long as a runtime, so that a reload resets none of it: the first that asks for a
// type has it made.
func Kept[T any](r *Runtime, first func() *T) *T {
	r.keptLock.Lock()
	defer r.keptLock.Unlock()
	of := reflect.TypeFor[T]()
	if _, ok := r.kept[of]; !ok {
		if r.kept == nil {
			r.kept = map[reflect.Type]any{}
		}
		r.kept[of] = first()
	}
	return r.kept[of].(*T)
}
