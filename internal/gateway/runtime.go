package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"google.golang.org/grpc"

	"github.com/hiregate/hiregate/internal/bodies"
	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/fairpool"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/limits"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/notify"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/relay"
	"github.com/hiregate/hiregate/internal/remarks"
	"github.com/hiregate/hiregate/internal/retention"
	"github.com/hiregate/hiregate/internal/secretuse"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/tenants"
	"github.com/hiregate/hiregate/internal/tracing"
	"github.com/hiregate/hiregate/schemas"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/dispatch"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/redelivery"
	"github.com/hiregate/hiregate/workflows/rounds"
	"github.com/hiregate/hiregate/workflows/scan"
	"github.com/hiregate/hiregate/workflows/submission"
	"github.com/hiregate/hiregate/workflows/verification"
)

// Settings say what a runtime is made of. Configurations with equal settings share one.
type Settings struct {
	Database  string // address; see store.Open
	Documents string // address; see documents.OpenStore. Empty: the gateway signs people in, and does nothing else
	Bucket    documents.Bucket
	Erasures  string // path of the list of erasures; see erasure.Open. Empty: there is none
	Temporal  string // host:port
	Namespace string
	Security  Security // of the connection to Temporal
}

// SignInAlone reports whether a gateway signs people in, and does nothing else: it has no documents and no Temporal.
func (s Settings) SignInAlone() bool { return s.Documents == "" }

// Runtime has the parts that outlive a configuration: the store, the documents, the client and workers of Temporal, the
// dispatcher. The configuration in force says what they may do.
type Runtime struct {
	Settings Settings
	InForce  config.InForce
	Rates    limits.Rates
	Tests    Tests
	Outage   Outage
	Bodies   *inbox.RecentBodies
	// Unverified bounds what the bodies of requests take before it is known who sent them.
	Unverified *bodies.Bodies
	// Requests bounds the requests in progress.
	Requests *bodies.Requests
	// Validations is the memory for reading and validating the bodies of exports, in bytes.
	Validations *fairpool.Pool
	// Checks and Previews bound the checks of answers that are under way, see check.go.
	Checks, Previews *fairpool.Pool
	// Jobs caches the schemas of the answers to the questions of jobs.
	Jobs *schemas.Jobs
	// SignInFailures counts the failed passwords at sign-in, which a reload does not forgive.
	SignInFailures *password.Failures
	// Pages bounds the pages of the console that are being made. The people share them.
	Pages *fairpool.Pool
	// Directory holds the stored tenants.
	Directory *tenants.Directory
	// Signatures notes what the requests at the hooks are signed with.
	Signatures *secretuse.Notes
	// Remarks counts deviations and refusals of what comes at the hooks.
	Remarks *remarks.Notes

	// These are there once Start has succeeded.
	Dispatcher   *dispatch.Dispatcher
	Reconciler   *dispatch.Reconciler
	Redeliverer  *rounds.Redeliverer
	Releaser     *rounds.Releaser
	Archive      *documents.Archive
	Relay        *relay.Relay
	Retention    *retention.Retention
	Again        retention.Again // what was erased again at the start
	notifier     *notify.Notifier
	changes      *notify.ChangeSender
	logouts      *notify.LogoutSender
	exports      *export.Activities
	verification *verification.Activities
	scans        *scan.Activities
	submissions  *submission.Activities
	redeliveries *redelivery.Activities
	arrivals     arrivals
	loops        loop.Set

	keptLock sync.Mutex
	kept     map[reflect.Type]any // of handlers, see Kept

	database *Database
	files    *documents.Files
	client   client.Client
	log      *zap.Logger
	now      func() time.Time

	attributes atomic.Bool // the search attributes are registered
	faults     *workflows.Faults
	workersUp  atomic.Bool
	// workersFault is why the workers could not be started when that was tried last; nil: they could.
	workersFault atomic.Pointer[TemporalFault]
	unwritable   atomic.Pointer[databaseFault] // nil: the database could be written when it was last asked
	barrier      barrier
	markEvery    time.Duration // how often the running gateway looks whose the namespace is

	starting sync.Mutex
	started  bool
	ended    bool
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// ValidationMemory is how many bytes of memory the bodies of exports may take while they are read and validated.
const ValidationMemory = 32 << 20

// NewRuntime makes a runtime, without touching anything: Start does.
func NewRuntime(s Settings, database *Database, log *zap.Logger) (*Runtime, error) {
	files, err := documents.OpenStore(s.Documents, s.Bucket)
	if err != nil {
		return nil, err
	}
	faults := new(workflows.Faults)
	options := client.Options{
		HostPort: s.Temporal, Namespace: s.Namespace,
		MetricsHandler: faults.Handler(),
		Logger:         temporallog.NewStructuredLogger(slog.New(zapslog.NewHandler(log.Named("temporal").Core()))),
	}
	if err := s.Security.protect(&options); err != nil {
		return nil, err
	}
	r := &Runtime{Settings: s, faults: faults, database: database, files: files, log: log, now: time.Now,
		Bodies: inbox.NewRecentBodies(), Unverified: bodies.New(), Requests: bodies.NewRequests(),
		Validations: fairpool.NewPool(ValidationMemory), Checks: fairpool.NewPool(checksAtOnce()),
		Previews: fairpool.NewPool(previewsAtOnce), Pages: fairpool.NewPool(pagesAtOnce()),
		Jobs: schemas.NewJobs(), SignInFailures: password.NewFailures(time.Now)}
	r.markEvery = time.Minute
	r.barrier.reason.Store(errUnchecked)
	if s.SignInAlone() {
		r.barrier.reason.Store(errSignInAlone)
	}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions,
		grpc.WithChainUnaryInterceptor(r.barrier.intercept))
	if r.client, err = client.NewLazyClient(options); err != nil {
		return nil, fmt.Errorf("connecting to Temporal at %s: %w", s.Temporal, err)
	}
	r.Directory = tenants.New(r.Store, log.Named("directory"))
	r.Signatures = secretuse.New(r.Store, &r.InForce, log.Named("signatures"))
	r.Remarks = remarks.New(r.Store, log.Named("received"))
	return r, nil
}

// build makes the parts that work on the store.
func (r *Runtime) build(db *store.DB, list *erasure.List) {
	log, inForce := r.log, &r.InForce
	r.files.Keys = db
	r.Archive = &documents.Archive{Store: db, Files: r.files, InForce: inForce, Now: r.now, Log: log.Named("documents")}
	r.Dispatcher = &dispatch.Dispatcher{
		Store: db, Client: r.client, Namespace: r.Settings.Namespace, InForce: inForce, Archive: r.Archive, Now: r.now, Log: log.Named("dispatch"),
		Attributes: &r.attributes, Barred: r.barrier.said,
	}
	r.Reconciler = &dispatch.Reconciler{Dispatcher: r.Dispatcher, Faults: r.faults}
	r.Redeliverer, r.Releaser = &rounds.Redeliverer{Dispatcher: r.Dispatcher}, &rounds.Releaser{Dispatcher: r.Dispatcher}
	r.Retention = &retention.Retention{Store: db, InForce: inForce, Now: r.now, Log: log.Named("retention"),
		Archive: r.Archive, List: list}
	r.notifier = &notify.Notifier{Store: db, InForce: inForce, Now: r.now, Log: log.Named("notify")}
	r.changes = &notify.ChangeSender{Store: db, InForce: inForce, Now: r.now, Log: log.Named("events")}
	r.logouts = &notify.LogoutSender{Store: db, InForce: inForce, Now: r.now, Log: log.Named("logouts")}
	r.exports = &export.Activities{
		Attempter: &delivery.Attempter{Store: db, Archive: r.Archive, InForce: inForce,
			Capacity: delivery.NewCapacity(delivery.AttemptsAtOnce, delivery.BytesAtOnce), Now: r.now, Log: log.Named("export")},
		Client: r.client, IsLost: r.Reconciler.IsLost, Undispatched: r.Dispatcher.Undispatched, Leave: r.Reconciler.Leave,
	}
	r.Dispatcher.Crowded = r.exports.Crowded
	if !db.Exclusive() { // a node that is alone has nobody to take its groups
		r.Dispatcher.Busy = r.exports.Busy
	}
	r.verification = &verification.Activities{
		Store: db, InForce: inForce, Places: fairpool.NewPool(verification.AtOnce), Release: r.Releaser.Release, Now: r.now,
		Log: log.Named("verification"),
	}
	r.redeliveries = &redelivery.Activities{Store: db, Client: r.client, InForce: inForce, Redeliverer: r.Redeliverer,
		Now: r.now, Log: log.Named("redelivery")}
	r.scans = &scan.Activities{Store: db, Archive: r.Archive, InForce: inForce, Client: r.client, Now: r.now,
		Log: log.Named("scan")}
	r.Relay = &relay.Relay{Store: db, Archive: r.Archive, InForce: inForce, Now: r.now, Log: log.Named("relay")}
	r.submissions = &submission.Activities{Store: db, Relay: r.Relay, InForce: inForce, Client: r.client, Now: r.now,
		Log: log.Named("relay")}
}

// flushWithin bounds how long the end of a runtime waits until its last spans are exported.
const flushWithin = 2 * time.Second

var errEnded = errors.New("the gateway's configuration has been replaced, and what it used is closed")

// Start opens the store and starts the background work, once. Temporal may be away: exports wait in the store. It is an
// error when the namespace of Temporal belongs to another database.
func (r *Runtime) Start(ctx context.Context) error { return r.startFor(ctx, r.InForce.Current()) }

// startFor is Start for a configuration that is not in force yet; nil: none.
func (r *Runtime) startFor(ctx context.Context, c *config.Config) error {
	r.starting.Lock()
	defer r.starting.Unlock()
	switch {
	case r.ended: // for a request of a configuration that is gone
		return errEnded
	case r.started:
		return nil
	}
	// Opening may wait for the database; a signal that ends the process ends the wait.
	ctx, heeded := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer heeded()
	db, err := r.database.Open(ctx, r.log)
	if err != nil {
		return err
	}
	if err := r.Directory.Refresh(ctx); err != nil {
		return err
	}
	if r.Settings.SignInAlone() {
		r.build(db, nil)
		r.begin()
		return nil
	}
	// A bucket that is away comes back, as Temporal does: until then exports are accepted without documents.
	away := r.files.Prepare()
	if away != nil && !errors.Is(away, documents.ErrAway) {
		return away
	}
	if err := r.refuseForeign(ctx, c); err != nil {
		return err
	}
	var list *erasure.List
	if path := r.Settings.Erasures; path != "" {
		if list, err = erasure.Open(path); err != nil {
			return err
		}
	}
	r.build(db, list)
	r.Archive.NoteStorable(away)
	if r.Again, err = r.Retention.EraseAgain(ctx); err != nil {
		return err
	}
	log := r.log.Named("traces")
	if err := tracing.Start(func(err error) { log.Warn("traces could not be exported", zap.Error(err)) }); err != nil {
		log.Error("no traces are made: check the OTEL_ variables and restart the gateway", zap.Error(err))
	}
	if db.Exclusive() && away == nil {
		// What was begun since it was opened is not left by another process: a configuration that is being replaced takes it
		// in.
		if err := r.Archive.Sweep(ctx, r.database.opened); err != nil {
			return err
		}
	}
	background := r.begin()
	r.running.Go(func() { r.Dispatcher.Run(background) })
	r.running.Go(func() { r.work(background) })
	return nil
}

// begin begins the background work that needs no Temporal. The context is that of all of it.
func (r *Runtime) begin() context.Context {
	background, stop := context.WithCancel(context.Background())
	r.stop, r.started = stop, true
	r.running.Go(func() { r.loops.Run(background, r.log, r.table()...) })
	r.running.Go(func() {
		<-background.Done()
		r.Remarks.Flush()
	})
	return background
}

// Store is the open database; nil before Start.
func (r *Runtime) Store() *store.DB { return r.database.db }

// databaseFault is why the database can't be written, and since when.
type databaseFault struct {
	since time.Time
	error
}

// Ready returns an error when an export would not be accepted now.
func (r *Runtime) Ready(ctx context.Context) error {
	err := r.Store().Ping(ctx)
	switch {
	case errors.Is(err, context.Canceled): // nobody waited for the answer
	case err != nil && r.unwritable.CompareAndSwap(nil, &databaseFault{r.now(), err}):
		r.log.Error("the database can't be written: exports are refused until it can be", zap.Error(err))
	case err == nil && r.unwritable.Swap(nil) != nil:
		r.log.Info("the database can be written again")
	}
	if !errors.Is(err, context.Canceled) {
		metrics.Database(err == nil)
	}
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return nil
}

// databasePatience is how long the database may take for a write before it counts as away.
const databasePatience = 5 * time.Second

// watch tries whether the database can be written, so that the metric and the log know it although no sender and no load
// balancer asks.
func (r *Runtime) watch(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, databasePatience)
	defer cancel()
	_ = r.Ready(limited) // it logs the error
	return nil
}

// DocumentsReady returns an error when documents can't be stored, as far as was found out.
func (r *Runtime) DocumentsReady() error {
	r.starting.Lock()
	defer r.starting.Unlock()
	if !r.started {
		return nil
	}
	_, err := r.Archive.Storable()
	return err
}

// boundBodies bounds unverified bodies, and requests, as the configuration in force says.
func (r *Runtime) boundBodies() {
	if c := r.InForce.Current(); c != nil {
		r.Unverified.Configure(c.BodyMemory, c.BodyTime)
		r.Requests.Configure(c.BodyMemory)
		metrics.LabelTenants(c.TenantLabels)
	}
}

// Destruct ends the background work, and waits for attempts under way.
func (r *Runtime) Destruct() error {
	if r.end() {
		r.stop()
		r.running.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
		defer cancel()
		tracing.Flush(ctx) // what fails goes where Start was told to
	}
	r.client.Close()
	return nil
}

// end makes Start refuse from now on; nobody waits at it while the work comes to its end. It reports whether any was
// begun.
func (r *Runtime) end() (started bool) {
	r.starting.Lock()
	defer r.starting.Unlock()
	r.ended = true
	return r.started
}
