package console

import (
	"net/http"

	"github.com/hiregate/hiregate/internal/api"
)

// subscriptionsOf reads who is sent what changes of a tenant.
func (v *visitor) subscriptionsOf(tenant string) ([]api.EventSubscription, error) {
	var all api.List[api.EventSubscription]
	err := v.get(at("tenants", tenant, "event-subscriptions"), nil, &all)
	return all.Items, err
}

// addSubscription makes a subscription to all events.
func addSubscription(v *visitor) error {
	address, secret := v.PostFormValue("url"), v.PostFormValue("secret")
	return v.putSubscription(v.PostFormValue("name"), api.EventSubscriptionInput{URL: &address, Secret: &secret}, "subscription-added")
}

// actOnSubscription disables, enables or removes a subscription.
func actOnSubscription(v *visitor) error {
	name := v.PathValue("name")
	disabled := false
	switch v.PathValue("action") {
	case "disable":
		disabled = true
	case "enable":
	case "remove":
		if err := v.call(http.MethodDelete, v.subscriptionAt(name), nil, nil, nil); err != nil {
			return err
		}
		return v.toTenant("subscription-removed")
	default:
		return errNotFound
	}
	return v.putSubscription(name, api.EventSubscriptionInput{Disabled: &disabled}, "subscription-saved")
}

func (v *visitor) putSubscription(name string, in api.EventSubscriptionInput, done string) error {
	if err := v.call(http.MethodPut, v.subscriptionAt(name), nil, in, nil); err != nil {
		return err
	}
	return v.toTenant(done)
}

func (v *visitor) subscriptionAt(name string) string {
	return at("tenants", v.PathValue("tenant"), "event-subscriptions", name)
}

func (v *visitor) toTenant(done string) error {
	return v.redirect(pathOf("tenants", v.PathValue("tenant")) + "?done=" + done)
}
