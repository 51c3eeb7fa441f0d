// Package scan has the documents of job applications scanned. No document is served before it is known to be clean.
package scan

import (
	"context"
	"fmt"
	"strconv"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows"
)

// The names under which the workflow and its activity are registered. Recorded histories hold them: they don't change.
const (
	WorkflowName = "scan"
	ScanName     = "scan-document"
)

// Input names the document, by its key in the store.
type Input struct {
	Document int64 `json:"document"`
}

// Result is the result of a scan. Scan is empty when another node ended it, or the document is gone.
type Result struct {
	Scan model.ScanState `json:"scan,omitempty"`
}

// span is how long one workflow runs; a document that is still pending then gets the next.
const span = 24 * time.Hour

// Workflow is the scan of one document.
func Workflow(ctx workflow.Context, in Input) (res Result, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              workflows.DocumentsQueue,
		ScheduleToCloseTimeout: span,
		StartToCloseTimeout:    scanTime + time.Minute,
		HeartbeatTimeout:       20 * time.Second,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 5 * time.Second, BackoffCoefficient: 1, MaximumAttempts: 0},
	})
	err = workflow.ExecuteActivity(ctx, ScanName, in).Get(ctx, &res)
	return res, err
}

// start starts the scan of a document, unless it runs already.
func start(ctx context.Context, c client.Client, document int64) error {
	_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       "scan/" + strconv.FormatInt(document, 10),
		TaskQueue:                workflows.DeliverQueue,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "scan of a document",
	}, WorkflowName, Input{Document: document})
	if err != nil {
		return fmt.Errorf("starting the scan of a document: %w", err)
	}
	return nil
}
