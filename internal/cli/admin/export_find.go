package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// exportOf reads TENANT/UUID. A UUID is opaque and may hold slashes.
func exportOf(arg string) (path, name string, err error) {
	tenant, uuid, ok := strings.Cut(arg, "/")
	if !ok {
		return "", "", fmt.Errorf("whose export is it? write it as TENANT/%s", terminal.Printable(arg))
	}
	if err := model.ValidateTenantName(tenant); err != nil {
		return "", "", err
	}
	if uuid == "" {
		return "", "", errors.New("the UUID is missing: write the export as TENANT/UUID")
	}
	return tenantPath(tenant, "exports", webhook.KeySegment(uuid)), arg, nil
}

const (
	minUUID   = 8  // characters of a UUID that an export is found by
	wholeUUID = 36 // characters of one that needs no search
)

// findExport finds an export that is named as TENANT/UUID, by its UUID, or by the beginning of its UUID: at least 8
// characters, with which no other UUID begins.
func (a *Client) findExport(ctx context.Context, arg string) (path, name string, err error) {
	tenant, uuid, ok := strings.Cut(arg, "/")
	list := "/v1/exports"
	switch {
	case !ok && len(arg) < minUUID:
		return "", "", fmt.Errorf("which export is %s? name it as TENANT/UUID, or by at least %d characters of its UUID",
			terminal.Printable(arg), minUUID)
	case !ok:
		uuid = arg
	case len(uuid) < minUUID || len(uuid) >= wholeUUID:
		return exportOf(arg)
	default:
		if err := model.ValidateTenantName(tenant); err != nil {
			return "", "", err
		}
		list = tenantPath(tenant, "exports")
	}
	page, err := a.page(ctx, http.MethodGet, list, url.Values{"uuid": {uuid}}, nil)
	if err != nil {
		return "", "", err
	}
	var found []string
	for _, raw := range page.Items {
		var e api.Export
		if err := json.Unmarshal(raw, &e); err != nil {
			return "", "", a.elsewhere(strange)
		}
		if found = append(found, e.Tenant+"/"+e.ID); e.ID == uuid && ok {
			found = found[len(found)-1:]
			break
		}
	}
	switch {
	case len(found) == 1:
		return exportOf(found[0])
	case len(found) == 0 && ok:
		return exportOf(arg) // the gateway says what is missing
	case len(found) == 0:
		return "", "", fmt.Errorf("there is no export whose UUID begins with %s: hiregate export list shows them",
			terminal.Printable(uuid))
	}
	slices.Sort(found)
	for n, one := range found {
		found[n] = terminal.Printable(one)
	}
	return "", "", fmt.Errorf("several exports have a UUID that begins with %s: name one of them\n  %s",
		terminal.Printable(uuid), strings.Join(found, "\n  "))
}
