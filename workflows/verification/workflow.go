// Package verification sends VERIFY to an integration until it answers with exactly 200. No export is delivered to it
// before.
package verification

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows"
)

// The names under which the workflow and its activity are registered. Recorded histories hold them: they don't change.
const (
	WorkflowName = "verification"
	VerifyName   = "verify"
)

// Input names the integration to verify. Setting is the hash of tenant, name, URL and secret, in hex: a verification
// ends when its setting is no longer the one in force.
type Input struct {
	Tenant      string `json:"tenant"`
	Integration string `json:"integration"`
	Setting     string `json:"setting"`
}

// Result is the result of a verification.
type Result struct {
	State model.IntegrationState `json:"state"`
}

// span is how long one workflow runs; the gateway starts the next while the integration is not configured.
const span = 7 * 24 * time.Hour

// Workflow is one verification of one setting.
func Workflow(ctx workflow.Context, in Input) (Result, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID:             VerifyName,
		TaskQueue:              workflows.DeliverQueue,
		ScheduleToCloseTimeout: span,
		StartToCloseTimeout:    45 * time.Second, // above the attempt's own 20 s
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 10 * time.Second, BackoffCoefficient: 1, MaximumAttempts: 0},
	})
	res := Result{State: model.NotConfigured}
	if err := workflow.ExecuteActivity(ctx, VerifyName, in).Get(ctx, &res); err != nil {
		return res, err
	}
	return res, nil
}

// Start starts the verification of an integration, unless one of the same setting runs already.
func Start(ctx context.Context, c client.Client, i *model.Integration, attributes bool) error {
	setting := hex.EncodeToString(i.Setting())
	o := client.StartWorkflowOptions{
		ID:                       workflowID(i, setting),
		TaskQueue:                workflows.DeliverQueue,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            webhook.EventVerify + " of " + i.Tenant + "/" + i.Name,
		Priority:                 workflows.PriorityOf(i.Tenant, workflows.Triggered),
	}
	if attributes {
		o.TypedSearchAttributes = temporal.NewSearchAttributes(workflows.AttributeTenant.ValueSet([]string{i.Tenant}),
			workflows.AttributeEvent.ValueSet(webhook.EventVerify), workflows.AttributeIntegration.ValueSet(i.Name))
	}
	in := Input{Tenant: i.Tenant, Integration: i.Name, Setting: setting}
	_, err := c.ExecuteWorkflow(ctx, o, WorkflowName, in)
	if invalid := new(serviceerror.InvalidArgument); errors.As(err, &invalid) {
		o.TypedSearchAttributes = temporal.SearchAttributes{} // Temporal may not know them, or not yet
		_, err = c.ExecuteWorkflow(ctx, o, WorkflowName, in)
	}
	if err != nil {
		return fmt.Errorf("starting the verification of %s/%s: %w", i.Tenant, i.Name, err)
	}
	return nil
}

// Hurry has a verification that waits for its next attempt make it now.
func Hurry(ctx context.Context, c client.Client, namespace string, i *model.Integration) error {
	err := workflows.RunNow(ctx, c, namespace, workflowID(i, hex.EncodeToString(i.Setting())), VerifyName)
	if errors.Is(err, workflows.ErrNotRunning) || errors.Is(err, workflows.ErrNoActivity) {
		return nil
	}
	return err
}

func workflowID(i *model.Integration, setting string) string {
	return "verification/" + i.Tenant + "/" + i.Name + "/" + setting[:16]
}
