package workflows

import (
	"context"
	"fmt"
	"slices"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// The search attributes by which workflows are found in Temporal's UI. They hold names from the configuration, the keys
// of exports, and fixed words. A workflow for several exports has the tenants and keys of all, as far as they fit.
var (
	AttributeTenant      = temporal.NewSearchAttributeKeyKeywordList("HiregateTenant")
	AttributeExport      = temporal.NewSearchAttributeKeyKeywordList("HiregateExport")
	AttributeEvent       = temporal.NewSearchAttributeKeyKeyword("HiregateEvent")
	AttributeOutcome     = temporal.NewSearchAttributeKeyKeyword("HiregateOutcome")
	AttributeIntegration = temporal.NewSearchAttributeKeyKeyword("HiregateIntegration")
)

var attributes = []temporal.SearchAttributeKey{
	AttributeTenant, AttributeExport, AttributeEvent, AttributeOutcome, AttributeIntegration,
}

// EnsureAttributes registers the search attributes that are missing. After an error, start workflows without them:
// Temporal refuses a start with an unregistered one.
func EnsureAttributes(ctx context.Context, c client.Client, namespace string) error {
	names, err := MissingAttributes(ctx, c, namespace)
	if err != nil || len(names) == 0 {
		return err
	}
	missing := map[string]enums.IndexedValueType{}
	for _, a := range attributes {
		if slices.Contains(names, a.GetName()) {
			missing[a.GetName()] = a.GetValueType()
		}
	}
	request := &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing}
	if _, err = c.OperatorService().AddSearchAttributes(ctx, request); err != nil {
		return fmt.Errorf("adding search attributes: %w", err)
	}
	return nil
}

// MissingAttributes returns the names of the search attributes that the namespace lacks.
func MissingAttributes(ctx context.Context, c client.Client, namespace string) (names []string, err error) {
	request := &operatorservice.ListSearchAttributesRequest{Namespace: namespace}
	known, err := c.OperatorService().ListSearchAttributes(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("listing search attributes: %w", err)
	}
	for _, a := range attributes {
		if _, ok := known.GetCustomAttributes()[a.GetName()]; !ok {
			names = append(names, a.GetName())
		}
	}
	return names, nil
}
