// Package deploy holds a unit for systemd and what docker-compose.yml mounts, and their tests. It exports nothing.
package deploy
