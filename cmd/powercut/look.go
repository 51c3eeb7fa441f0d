package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// kind is a kind of promise.
type kind string

const export kind = "exports" // its id is the UUID

var kinds = []kind{export}

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
		all, missing := f.count(k)
		parts = append(parts, fmt.Sprintf("%d %s acknowledged, %d missing", all, k, missing))
	}
	return strings.Join(parts, "; ")
}

// look looks for what the gateway promised. An error means that it does not say.
func (f findings) look(ctx context.Context, g *gateway, promises []promise) error {
	var first []string
	for _, p := range promises {
		if err := ctx.Err(); err != nil {
			return err
		}
		kept, err := g.keeps(p)
		if err != nil {
			return fmt.Errorf("looking for %s %s: %w", p.kind, p.id, err)
		}
		former, looked := f.kept[p]
		f.kept[p] = kept && (former || !looked)
		if !kept {
			first = append(first, fmt.Sprint(p.kind, " ", p.id))
		}
	}
	if len(first) > 0 {
		fmt.Printf("%d of %d missing, among them %s\n", len(first), len(promises), strings.Join(first[:min(5, len(first))], ", "))
	}
	return nil
}

// keeps reports whether the gateway has what it promised.
func (g *gateway) keeps(p promise) (bool, error) {
	status, answer, err := g.send(p.id) // a repeat of what is stored is answered 200, an export that is new 202
	if err != nil {
		return false, err
	}
	switch status {
	case http.StatusOK:
		return true, nil
	case http.StatusAccepted, http.StatusConflict: // it is not there, or with another body
		return false, nil
	}
	return false, fmt.Errorf("unexpected answer %d: %s", status, answer)
}
