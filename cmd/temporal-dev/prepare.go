package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

const retention = 72 * time.Hour

// frontend is the server as its clients see it.
type frontend struct {
	workflowservice.WorkflowServiceClient
	operator operatorservice.OperatorServiceClient
}

// prepare waits for the frontend and creates the namespaces and search attributes that are missing. When it returns,
// workflows with those attributes can be started and found.
func prepare(ctx context.Context, o options) error {
	conn, err := grpc.NewClient("passthrough:///"+o.frontend(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to the Temporal frontend: %w", err)
	}
	defer conn.Close()
	f := frontend{workflowservice.NewWorkflowServiceClient(conn), operatorservice.NewOperatorServiceClient(conn)}

	for _, name := range o.namespaces {
		if err := eventually(ctx, func() error { return f.ensureNamespace(ctx, name) }); err != nil {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
		if err := f.ensureAttributes(ctx, name, o.attributes); err != nil {
			return fmt.Errorf("register search attributes in namespace %s: %w", name, err)
		}
	}
	return nil
}

// ensureNamespace makes sure that name exists and that the frontend knows it.
func (f frontend) ensureNamespace(ctx context.Context, name string) error {
	_, err := f.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
	var missing *serviceerror.NamespaceNotFound
	if !errors.As(serviceerror.FromStatus(status.Convert(err)), &missing) {
		return err
	}
	_, err = f.RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace:                        name,
		WorkflowExecutionRetentionPeriod: durationpb.New(retention),
	})
	return err
}

// ensureAttributes registers what is missing of want and waits until queries know the namespace and all of want.
func (f frontend) ensureAttributes(
	ctx context.Context, namespace string, want map[string]enumspb.IndexedValueType,
) error {
	have := map[string]enumspb.IndexedValueType{}
	err := eventually(ctx, func() error {
		resp, err := f.operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
		have = resp.GetCustomAttributes()
		return err
	})
	if err != nil {
		return err
	}
	missing := maps.Clone(want)
	for name, t := range have {
		if w, ok := want[name]; ok && w != t {
			return fmt.Errorf("%s is there as %s, not as %s; choose another name or another --db", name, t, w)
		}
		delete(missing, name)
	}
	if len(missing) > 0 {
		if _, err := f.operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: namespace, SearchAttributes: missing,
		}); err != nil {
			return err
		}
	}
	queries := []string{""} // this one needs the namespace alone
	for name := range want {
		queries = append(queries, name+" IS NULL")
	}
	for _, query := range queries {
		if err := eventually(ctx, func() error {
			_, err := f.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace,
				Query: query})
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// eventually repeats try until it succeeds. When ctx ends first the error is the last one of try.
func eventually(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}
