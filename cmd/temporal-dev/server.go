package main

import (
	"fmt"
	"net"
	"strconv"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
	"go.uber.org/zap"
)

const (
	// historyShards is written into the database when it is created and can't change afterwards. Each shard has
	// its own queues and timers, so few are light; four still let two cores work side by side.
	historyShards = 4

	clusterName = "active"

	// unthrottled stands for "no limit" where the server wants a number per second. Its defaults protect a shared
	// cluster; the limit here is the machine.
	unthrottled = 100_000
)

// tuning overrides the server's dynamic configuration.
var tuning = dynamicconfig.StaticClient{
	dynamicconfig.FrontendRPS.Key():                                                        unthrottled,
	dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key():                                 unthrottled,
	dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key():                       unthrottled,
	dynamicconfig.FrontendMaxNamespaceNamespaceReplicationInducingAPIsRPSPerInstance.Key(): unthrottled,
	dynamicconfig.FrontendPersistenceMaxQPS.Key():                                          unthrottled,
	dynamicconfig.HistoryRPS.Key():                                                         unthrottled,
	dynamicconfig.HistoryPersistenceMaxQPS.Key():                                           unthrottled,
	dynamicconfig.MatchingRPS.Key():                                                        unthrottled,
	dynamicconfig.MatchingPersistenceMaxQPS.Key():                                          unthrottled,

	// One partition a task queue: no forwarding between partitions of the same process.
	dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
	dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,

	// Tenants take turns in the task queues: the gateway sends priorities and fairness keys with its workflows.
	dynamicconfig.MatchingEnableFairness.Key(): true,

	// Namespaces and search attributes are usable soon after they were registered.
	dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
	dynamicconfig.NamespaceCacheRefreshInterval.Key():           "500ms",

	dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 8_192,

	// It would ask a server on the Internet.
	dynamicconfig.EnableServerVersionCheck.Key(): false,
}

func (o options) address(port int) string { return net.JoinHostPort(o.ip.String(), strconv.Itoa(port)) }
func (o options) frontend() string        { return o.address(o.port) }
func (o options) ui() string              { return o.address(o.uiPort) }

// newConfig describes all four services of a Temporal server in this process. Only the frontend has an address that
// others know; the rest get free loopback ports.
func newConfig(o options) (*config.Config, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	internal := func(port int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: "127.0.0.1"}}
	}
	return &config.Config{
		// Nobody is joined, but twice this long is what the server gives its services to start: 15 s without it, which a
		// busy machine with a slow disk exceeds.
		Global: config.Global{Membership: config.Membership{MaxJoinDuration: startTimeout / 2}, Metrics: newMetrics(o)},
		Persistence: config.Persistence{
			DefaultStore:     sqlite.PluginName,
			VisibilityStore:  sqlite.PluginName,
			NumHistoryShards: historyShards,
			DataStores:       map[string]config.DataStore{sqlite.PluginName: {SQL: newDatabase(o.db)}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: o.frontend()},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			string(primitives.FrontendService): {RPC: config.RPC{GRPCPort: o.port, BindOnIP: o.ip.String()}},
			string(primitives.HistoryService):  internal(ports[0]),
			string(primitives.MatchingService): internal(ports[1]),
			string(primitives.WorkerService):   internal(ports[2]),
		},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchival{State: config.ArchivalDisabled},
		},
		NamespaceDefaults: config.NamespaceDefaults{
			Archival: config.ArchivalNamespaceDefaults{
				History:    config.HistoryArchivalNamespaceDefaults{State: config.ArchivalDisabled},
				Visibility: config.VisibilityArchivalNamespaceDefaults{State: config.ArchivalDisabled},
			},
		},
		PublicClient: config.PublicClient{HostPort: o.frontend()},
	}, nil
}

// newMetrics serves the server's metrics; nil: nowhere.
func newMetrics(o options) *metrics.Config {
	if o.metrics == 0 {
		return nil
	}
	return &metrics.Config{Prometheus: &metrics.PrometheusConfig{
		Framework: metrics.FrameworkOpentelemetry, ListenAddress: o.address(o.metrics)}}
}

// newServer makes the server; Start and Stop are left to the caller. Services find one another through a fixed list
// instead of gossip, so a crash leaves no stale members for which the next start would wait.
func newServer(cfg *config.Config, logger log.Logger) (temporal.Server, error) {
	hosts := map[primitives.ServiceName]static.Hosts{}
	for name, s := range cfg.Services {
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(
			net.JoinHostPort(s.RPC.BindOnIP, strconv.Itoa(s.RPC.GRPCPort)))
	}
	srv, err := temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithDynamicConfigClient(tuning),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
	)
	if err != nil {
		return nil, fmt.Errorf("make the Temporal server: %w", err)
	}
	return srv, nil
}

// newLogger writes to standard error. Stack traces stay out: the server logs an error whenever a client goes away in
// the middle of a long poll. Raising the level that it returns quietens the logger.
func newLogger(name string) (log.Logger, zap.AtomicLevel) {
	level := zap.NewAtomicLevelAt(log.ParseZapLevel(name))
	return log.NewZapLogger(log.BuildZapLogger(log.Config{Level: name, Format: "console"}).
		WithOptions(zap.AddStacktrace(zap.FatalLevel), zap.IncreaseLevel(level))), level
}
