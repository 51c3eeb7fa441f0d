package schedules

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/relay"
	"github.com/hiregate/hiregate/internal/retention"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/dispatch"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/redelivery"
	"github.com/hiregate/hiregate/workflows/rounds"
	"github.com/hiregate/hiregate/workflows/submission"
)

const tendEvery = 10 * time.Second

// node is a gateway: what of it works on exports.
type node struct {
	w       *world
	ctx     context.Context
	stop    context.CancelFunc
	dead    chan struct{} // closed: it was killed
	loops   sync.WaitGroup
	db      *store.DB
	inForce *config.InForce

	activities   *export.Activities
	dispatcher   *dispatch.Dispatcher
	reconciler   *dispatch.Reconciler
	redeliverer  *rounds.Redeliverer
	releaser     *rounds.Releaser
	redeliveries *redelivery.Activities
	retention    *retention.Retention
	archive      *documents.Archive
	relay        *relay.Relay
	submissions  *submission.Activities
}

var errDied = errors.New("the node died")

func (n *node) isDead() bool {
	select {
	case <-n.dead:
		return true
	default:
		return false
	}
}

// startNode starts a gateway on the database of the world.
func (w *world) startNode() (*node, error) {
	db, err := store.Open(w.ctx, w.address, store.Options{Vaults: &w.vaults})
	if err != nil {
		return nil, err
	}
	files, err := documents.OpenFiles(w.folder)
	if err != nil {
		return nil, err
	}
	files.Keys = db
	n := &node{w: w, dead: make(chan struct{}), db: db, inForce: new(config.InForce)}
	n.ctx, n.stop = context.WithCancel(w.ctx)
	c, quiet := &connection{s: w.server, n: n}, zap.NewNop()
	archive := &documents.Archive{Store: db, Files: files, InForce: n.inForce, Now: time.Now, Log: quiet}
	n.dispatcher = &dispatch.Dispatcher{Store: db, Client: c, Namespace: "default", InForce: n.inForce, Archive: archive, Now: time.Now, Log: quiet,
		Attributes: new(atomic.Bool)}
	n.reconciler = &dispatch.Reconciler{Dispatcher: n.dispatcher, Faults: new(workflows.Faults)}
	n.redeliverer, n.releaser = &rounds.Redeliverer{Dispatcher: n.dispatcher}, &rounds.Releaser{Dispatcher: n.dispatcher}
	attempter := &delivery.Attempter{Store: db, Archive: archive, InForce: n.inForce, Now: time.Now, Log: quiet,
		Capacity: delivery.NewCapacity(delivery.AttemptsAtOnce, delivery.BytesAtOnce)}
	n.activities = &export.Activities{Attempter: attempter, Client: c, IsLost: n.reconciler.IsLost, Leave: n.reconciler.Leave}
	n.dispatcher.Crowded = n.activities.Crowded
	if !db.Exclusive() {
		n.dispatcher.Busy = n.activities.Busy
	}
	n.redeliveries = &redelivery.Activities{Store: db, Client: c, InForce: n.inForce, Redeliverer: n.redeliverer, Now: time.Now,
		Log: quiet}
	n.retention = &retention.Retention{Store: db, InForce: n.inForce, Now: time.Now, Log: quiet}
	n.archive = archive
	n.relay = &relay.Relay{Store: db, Archive: archive, InForce: n.inForce, Now: time.Now, Log: quiet}
	n.submissions = &submission.Activities{Store: db, Relay: n.relay, InForce: n.inForce, Client: c, Now: time.Now, Log: quiet}
	n.reload()
	n.loops.Go(func() { n.dispatcher.Run(n.ctx) })
	n.loops.Go(func() {
		new(loop.Set).Run(n.ctx, quiet, append(slices.Concat(n.dispatcher.Loops(), n.reconciler.Loops()), n.activities.Loop(), n.releaser.Loop(), n.submissions.Loop(),
			loop.Loop{Name: "held", Every: tendEvery, Round: n.releaser.TendHeld},
			loop.Loop{Name: "redeliveries", Every: tendEvery, Round: n.redeliveries.Tend})...)
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes = append(w.nodes, n)
	return n, nil
}

func (n *node) reload() {
	before, next := n.inForce.Current(), n.w.config(n)
	n.inForce.Push(next)
	if before != nil {
		n.inForce.Drop(before)
	}
}

// kill ends a node at once: nothing that it still does is stored, sent or told to Temporal.
func (n *node) kill() error {
	close(n.dead)
	err := n.db.Close()
	n.stop()
	n.loops.Wait()
	return err
}

// run runs an activity on the node.
func (n *node) run(x *execution, name string, part any, p *pending) (converter.EncodedValue, error) {
	type answer struct {
		value converter.EncodedValue
		err   error
	}
	answered := make(chan answer, 1)
	n.loops.Go(func() {
		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(silent{})
		env := suite.NewTestActivityEnvironment()
		env.SetWorkerOptions(worker.Options{BackgroundActivityContext: n.ctx, Interceptors: []interceptor.WorkerInterceptor{
			&infos{n: n, x: x, p: p}}})
		for name, do := range map[string]any{export.DeliverName: n.activities.Deliver, export.FirstName: n.activities.First, export.HandBackName: n.activities.HandBack,
			export.FetchDocumentsName: n.activities.FetchDocuments, redelivery.RedeliverName: n.redeliveries.Redeliver,
			submission.AttemptName: n.submissions.Attempt} {
			env.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name})
		}
		value, err := env.ExecuteActivity(name, part)
		answered <- answer{value, err}
	})
	select {
	case a := <-answered:
		if n.isDead() {
			return nil, errDied
		}
		return a.value, a.err
	case <-n.dead:
		return nil, errDied
	}
}

// infos gives an activity the workflow that it belongs to, and the client of its node.
type infos struct {
	interceptor.WorkerInterceptorBase
	n *node
	x *execution
	p *pending
}

func (i *infos) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &inbound{infos: i, ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}}
}

type inbound struct {
	interceptor.ActivityInboundInterceptorBase
	infos *infos
}

func (i *inbound) Init(next interceptor.ActivityOutboundInterceptor) error {
	return i.Next.Init(&outbound{infos: i.infos, ActivityOutboundInterceptorBase: interceptor.ActivityOutboundInterceptorBase{Next: next}})
}

type outbound struct {
	interceptor.ActivityOutboundInterceptorBase
	infos *infos
}

func (o *outbound) GetInfo(ctx context.Context) activity.Info {
	info := o.Next.GetInfo(ctx)
	x, p := o.infos.x, o.infos.p
	x.mu.Lock()
	defer x.mu.Unlock()
	info.WorkflowExecution.ID, info.WorkflowExecution.RunID, info.Attempt = x.id, "", p.attempt
	info.RetryPolicy = &temporal.RetryPolicy{InitialInterval: p.interval}
	return info
}

func (o *outbound) RecordHeartbeat(context.Context, ...any) {}

// silent logs nothing.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

var _ log.Logger = silent{}
