package gateway

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"

	"github.com/caddyserver/caddy/v2"
)

// adminAddress is where Caddy's admin endpoint of a configuration listens; empty: there is none, or it is not listened at, as by
// validate. The configuration is in no exported field of the context.
func adminAddress(ctx caddy.Context) (string, error) {
	config := reflect.ValueOf(ctx).FieldByName("cfg")
	if !config.IsValid() || config.IsNil() {
		return "", nil
	}
	admin := config.Elem().FieldByName("Admin")
	if admin.IsNil() || admin.Elem().FieldByName("Disabled").Bool() {
		return "", nil
	}
	written, err := caddy.NewReplacer().ReplaceOrErr(admin.Elem().FieldByName("Listen").String(), true, true)
	if err != nil {
		return "", fmt.Errorf("reading the address of the admin endpoint: %w", err)
	}
	address, err := caddy.ParseNetworkAddress(cmp.Or(written, caddy.DefaultAdminListen))
	if err != nil {
		return "", fmt.Errorf("reading the address of the admin endpoint: %w", err)
	}
	if address.Host == "localhost" {
		address.Host = "127.0.0.1"
	}
	return address.String(), nil
}

// admins are the addresses of admin endpoints that this process has.
var admins = caddy.NewUsagePool()

// claim is an address of an admin endpoint that no other process may have meanwhile. Caddy opens its sockets so that several
// processes can listen at one address, and a command then reaches any of them.
type claim struct{ io.Closer }

// Destruct implements caddy.Destructor.
func (c claim) Destruct() error { return c.Close() }

func claimAdmin(address string) error {
	_, _, err := admins.LoadOrNew(address, func() (caddy.Destructor, error) {
		sum := sha256.Sum256([]byte(address))
		held, err := exclusive("hiregate-admin-" + hex.EncodeToString(sum[:16]))
		return claim{held}, err
	})
	if err != nil {
		return fmt.Errorf("another gateway has the admin endpoint at %s: stop it, or give this one an address of its own with the global option admin (%w)", address, err)
	}
	return nil
}
