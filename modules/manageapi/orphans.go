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
	orphansShown = 1000
	// orphansBound is how long a request may take that compares each open workflow. The command line waits for longer.
	orphansBound = 25 * time.Second
)

func listOrphans(r *rest.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), orphansBound)
	defer cancel()
	found, err := r.Gateway.Runtime.Reconciler.FindOrphanWorkflows(ctx, r.Now())
	if err != nil {
		return nil, orphanFault(r, err, 0)
	}
	shown := api.Strays{Count: len(found.Found), Looked: found.Looked, Young: found.Young, More: found.More,
		Items: []api.Stray{}}
	for _, s := range found.Found[:min(len(found.Found), orphansShown)] {
		shown.Items = append(shown.Items, api.Stray{Workflow: s.Workflow, StartedAt: s.StartedAt})
	}
	return shown, nil
}

// endOrphans terminates the orphans. The audit has the request before the first of them ends.
func endOrphans(r *rest.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), orphansBound)
	defer cancel()
	reconciler := r.Gateway.Runtime.Reconciler
	found, err := reconciler.FindOrphanWorkflows(ctx, r.Now())
	if err != nil {
		return nil, orphanFault(r, err, 0)
	}
	if len(found.Found) == 0 {
		return api.EndedStrays{Young: found.Young, More: found.More}, nil
	}
	if err := r.AuditAlone(); err != nil {
		return nil, err
	}
	n, err := reconciler.EndOrphanWorkflows(ctx, found)
	if err != nil {
		return nil, orphanFault(r, err, n)
	}
	return api.EndedStrays{Ended: n, Young: found.Young, More: found.More}, nil
}

// orphanFault returns the error of a comparison that was not finished, after some workflows were ended.
func orphanFault(r *rest.Request, err error, ended int) error {
	if !workflows.Unanswered(err) {
		return err
	}
	detail := "Temporal does not answer, or not in time: ask again in a moment"
	if ended > 0 {
		detail = fmt.Sprintf("%s; workflows that were ended: %d", detail, ended)
	}
	return r.NoTemporal(err, detail)
}
