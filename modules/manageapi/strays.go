package manageapi

import (
	"context"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
	"github.com/hiregate/hiregate/workflows"
)

const (
	straysShown = 1000
	// straysBound is how long a request may take that compares each open workflow. The command line waits for longer.
	straysBound = 25 * time.Second
)

func listStrays(r *rest.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), straysBound)
	defer cancel()
	found, err := r.Gateway.Runtime.Redeliverer.FindOrphanWorkflows(ctx, r.Now())
	if err != nil {
		return nil, strayFault(r, err, 0)
	}
	shown := api.Strays{Count: len(found.Found), Looked: found.Looked, Young: found.Young, More: found.More,
		Items: []api.Stray{}}
	for _, s := range found.Found[:min(len(found.Found), straysShown)] {
		shown.Items = append(shown.Items, api.Stray{Workflow: s.Workflow, StartedAt: s.StartedAt})
	}
	return shown, nil
}

// endStrays terminates the strays. The audit has the request before the first of them ends.
func endStrays(r *rest.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), straysBound)
	defer cancel()
	redeliverer := r.Gateway.Runtime.Redeliverer
	found, err := redeliverer.FindOrphanWorkflows(ctx, r.Now())
	if err != nil {
		return nil, strayFault(r, err, 0)
	}
	if len(found.Found) == 0 {
		return api.EndedStrays{Young: found.Young, More: found.More}, nil
	}
	if err := r.AuditAlone(); err != nil {
		return nil, err
	}
	n, err := redeliverer.EndOrphanWorkflows(ctx, found)
	if err != nil {
		return nil, strayFault(r, err, n)
	}
	return api.EndedStrays{Ended: n, Young: found.Young, More: found.More}, nil
}

// strayFault returns the error of a comparison that was not finished, after some workflows were ended.
func strayFault(r *rest.Request, err error, ended int) error {
	if !workflows.Unanswered(err) {
		return err
	}
	detail := "Temporal does not answer, or not in time: ask again in a moment"
	if ended > 0 {
		detail = fmt.Sprintf("%s; workflows that were ended: %d", detail, ended)
	}
	return r.NoTemporal(err, detail)
}
