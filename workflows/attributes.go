package workflows

import (
	"context"
	"fmt"

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
	service := c.OperatorService()
	known, err := service.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("listing search attributes: %w", err)
	}
	missing := map[string]enums.IndexedValueType{}
	for _, a := range attributes {
		if _, ok := known.GetCustomAttributes()[a.GetName()]; !ok {
			missing[a.GetName()] = a.GetValueType()
		}
	}
	if len(missing) == 0 {
		return nil
	}
	request := &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing}
	if _, err = service.AddSearchAttributes(ctx, request); err != nil {
		return fmt.Errorf("adding search attributes: %w", err)
	}
	return nil
}
