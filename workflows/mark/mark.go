// Package mark marks a namespace of Temporal with the id of the database whose gateway uses it. Two gateways with
// different databases in one namespace would run each other's workflows.
//
// The mark is the memo of a workflow that never ends. A workflow needs no more rights than the gateway has anyway, on a
// cluster of one's own and in Temporal Cloud alike: the data of a namespace can only be changed by its administrators,
// and in Temporal Cloud not by a client at all. Temporal starts one workflow of an id, so of two gateways that come at
// the same time one wins.
package mark

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/hiregate/hiregate/workflows"
)

// The workflow's id and the name under which it is registered. Namespaces hold them: they don't change.
const (
	WorkflowID   = "hiregate-database"
	WorkflowName = "mark-database"
	memoKey      = "hiregate"
)

// Mark says whose a namespace is.
type Mark struct {
	Database string    `json:"database"` // the id of the database
	Gateway  string    `json:"gateway"`  // public_url of the gateway that set the mark; empty: it was not known
	SetAt    time.Time `json:"set_at"`
}

var (
	// ErrNone is returned by Read when the namespace has no mark.
	ErrNone = errors.New("the namespace has no mark")
	// ErrTaken is returned by Set when the namespace has a mark already.
	ErrTaken = errors.New("the namespace has a mark already")
)

// Workflow is the mark. It waits until it is terminated.
func Workflow(ctx workflow.Context) error {
	ctx.Done().Receive(ctx, nil)
	return ctx.Err()
}

// Read returns the mark of a namespace. The error is ErrNone, or Temporal's.
func Read(ctx context.Context, c client.Client, namespace string) (m Mark, err error) {
	found, err := c.WorkflowService().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace, Execution: &common.WorkflowExecution{WorkflowId: WorkflowID}})
	var gone *serviceerror.NotFound
	switch {
	case errors.As(err, &gone):
		return m, ErrNone
	case err != nil:
		return m, fmt.Errorf("reading the mark of a namespace: %w", err)
	}
	info := found.GetWorkflowExecutionInfo()
	payload, ok := info.GetMemo().GetFields()[memoKey]
	if info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING || !ok {
		return m, ErrNone
	}
	if err := converter.GetDefaultDataConverter().FromPayload(payload, &m); err != nil {
		return m, fmt.Errorf("reading the mark of a namespace: %w", err)
	}
	return m, nil
}

// Set marks a namespace. With over, it replaces the mark that is there; else the error is ErrTaken then.
func Set(ctx context.Context, c client.Client, m Mark, over bool) error {
	conflict := enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL
	if over {
		conflict = enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	}
	_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                                       WorkflowID,
		TaskQueue:                                workflows.DeliverQueue,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy:                 conflict,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     map[string]any{memoKey: m},
		StaticSummary:                            "whose namespace this is: leave it open",
	}, WorkflowName)
	var already *serviceerror.WorkflowExecutionAlreadyStarted
	switch {
	case errors.As(err, &already):
		return ErrTaken
	case err != nil:
		return fmt.Errorf("marking a namespace: %w", err)
	}
	return nil
}
