package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// findings are the promises that were looked for after the cuts.
type findings struct {
	kept     map[promise]bool // of each promise that was looked for; false: it was missing, or not as it was acknowledged, once
	unopened error            // why the gateway did not come up on what a cut left; nil: it did each time
}

// count counts the promises of a kind, and those of them that were not kept.
func (f findings) count(k kind) (all, missing int) {
	for p, kept := range f.kept {
		if p.kind == k {
			all++
			if !kept {
				missing++
			}
		}
	}
	return all, missing
}

// missing counts the promises that were not kept.
func (f findings) missing() (n int) {
	for _, k := range kinds {
		_, missing := f.count(k)
		n += missing
	}
	return n
}

func (f findings) String() string {
	var parts []string
	for _, k := range kinds {
		if all, missing := f.count(k); all > 0 {
			parts = append(parts, fmt.Sprintf("%s %d, missing %d", k, all, missing))
		}
	}
	return strings.Join(parts, "; ")
}

// look looks for what the gateway promised. An error means that it does not say.
func (f findings) look(ctx context.Context, l *load, promises []promise) error {
	var missing []string
	for _, p := range promises {
		kept, err := l.kept(ctx, p)
		if err != nil {
			return fmt.Errorf("looking for %s %s: %w", p.kind, p.id, err)
		}
		former, looked := f.kept[p]
		f.kept[p] = kept && (former || !looked)
		if !kept {
			missing = append(missing, fmt.Sprint(p.kind, " ", p.id))
		}
	}
	if len(missing) > 0 {
		fmt.Printf("%d of %d missing, among them %s\n", len(missing), len(promises),
			strings.Join(missing[:min(5, len(missing))], ", "))
	}
	return ctx.Err()
}

// lookForDeliveries waits until all that was acknowledged, and not to be erased, is delivered.
func (f findings) lookForDeliveries(ctx context.Context, l *load) error {
	var wanted []promise
	for _, p := range l.list() {
		if (p.kind == exports || p.kind == applications || p.kind == submissions) && !l.isErasing(p.id) {
			wanted = append(wanted, promise{deliveries, p.id})
		}
	}
	arrived := func(p promise) bool { return l.outside.got(p.id) }
	for deadline := time.Now().Add(l.patience); !all(wanted, arrived) && time.Now().Before(deadline); {
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return f.look(ctx, l, wanted)
}

func all(promises []promise, is func(promise) bool) bool {
	return !slices.ContainsFunc(promises, func(p promise) bool { return !is(p) })
}

// kept reports whether the gateway has what it promised.
func (l *load) kept(ctx context.Context, p promise) (bool, error) {
	name, more, _ := strings.Cut(p.id, " ")
	switch g := l.gateway; p.kind {
	case exports: // a repeat of what is stored is answered 200, an export that is new 202, another body 409
		status, answer, err := g.send(name, l.outside.exportBody(name))
		return answered(status, answer, err, http.StatusOK, http.StatusAccepted, http.StatusConflict)
	case applications:
		return g.foundByEmail("/tenants/initech/candidates", name)
	case submissions:
		return g.foundByEmail("/tenants/acme/submissions", name)
	case documents:
		same, gone, err := sameDocument(more, name)
		for deadline := time.Now().Add(l.patience); err == errFetching; same, gone, err = sameDocument(more, name) {
			if l.patience == 0 { // it is looked for again after the last cut
				return true, nil
			}
			if time.Now().After(deadline) {
				return false, nil
			}
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return false, err
			}
		}
		return same || gone && l.isErasing(name), err
	case deliveries:
		return l.outside.got(name), nil
	case changes:
		there, answer, err := g.found("/tenants/changed")
		var tenant struct{ Name string }
		if err != nil || !there {
			return false, err
		}
		if err := json.Unmarshal(answer, &tenant); err != nil {
			return false, err
		}
		return number(tenant.Name) >= number(name), nil
	}
	there, answer, err := l.gateway.found("/tenants/acme/exports/" + name)
	if err != nil || !there {
		return false, err
	}
	var export struct {
		Round    int
		ErasedAt string
	}
	if err := json.Unmarshal(answer, &export); err != nil {
		return false, err
	}
	if p.kind == redeliveries {
		return export.Round >= number(more), nil
	}
	there, _, err = l.gateway.foundBy(http.MethodPost, "/tenants/acme/exports/"+name+"/body")
	return export.ErasedAt != "" && !there, err
}

// foundByEmail reports whether a list has one of the person of a name, and not more.
func (g *gateway) foundByEmail(list, name string) (bool, error) {
	_, answer, err := g.found(list + "?email=" + name + "@example.com")
	var found struct{ Items []json.RawMessage }
	if err == nil {
		err = json.Unmarshal(answer, &found)
	}
	return len(found.Items) == 1, err
}

// found asks the management API for something, and reports whether it is there.
func (g *gateway) found(path string) (bool, []byte, error) { return g.foundBy(http.MethodGet, path) }

func (g *gateway) foundBy(method, path string) (bool, []byte, error) {
	status, answer, err := g.manage(method, path, "")
	there, err := answered(status, answer, err, http.StatusOK, http.StatusNotFound, http.StatusGone)
	return there, answer, err
}

// answered reports whether an answer says that something is there. An error means that it says neither.
func answered(status int, answer []byte, err error, there int, not ...int) (bool, error) {
	if err == nil && status != there && !slices.Contains(not, status) {
		err = fmt.Errorf("unexpected answer %d: %s", status, answer)
	}
	return status == there, err
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
