# shellcheck shell=bash
# A container engine for one run, for machines that have none: to be sourced by .ci/run, as root on Linux with Debian's
# docker.io. Everything lies in one folder and nothing is fetched: the image is made of this machine's redis-server.
#
#   engine_start <folder>   starts dockerd and imports the image; on success DOCKER_HOST, SPILLWAY_REDIS_IMAGE and what
#                           testcontainers needs to know are exported
#   engine_stop             stops dockerd and its containers; the folder can be removed afterwards
#
# Both return within their time limits whatever dockerd does, and say in one line what went wrong.

ENGINE_READY_WITHIN_S=30
ENGINE_CALL_WITHIN_S=60
ENGINE_STOP_WITHIN_S=20
ENGINE_IMAGE=spillway-redis:local
ENGINE_BRIDGE=docker0
ENGINE_BRIDGE_IS_OURS=
ENGINE_PID=

engine_say() { printf 'container engine: %s\n' "$*" >&2; }

engine_docker() { timeout --kill-after=5 "$ENGINE_CALL_WITHIN_S" docker "$@" </dev/null; }

engine_start() {
  local folder=$1
  command -v dockerd >/dev/null || { engine_say "there is no dockerd"; return 1; }
  command -v docker >/dev/null || { engine_say "there is no docker client"; return 1; }
  mkdir -p "$folder"
  [ -e "/sys/class/net/$ENGINE_BRIDGE" ] || ENGINE_BRIDGE_IS_OURS=yes
  # Own folders and socket, so that an engine of the machine's own is neither used nor disturbed. Ports are published by
  # docker's own proxy on the loopback interface, which needs no firewall rules.
  dockerd --data-root "$folder/data" --exec-root "$folder/exec" --pidfile "$folder/dockerd.pid" \
    --iptables=false --ip-masq=false --ip 127.0.0.1 --host "unix://$folder/docker.sock" >"$folder/dockerd.log" 2>&1 </dev/null &
  ENGINE_PID=$!
  export DOCKER_HOST="unix://$folder/docker.sock"
  if ! engine_wait_ready; then
    engine_say "dockerd did not start within $ENGINE_READY_WITHIN_S s: $(engine_last_words "$folder/dockerd.log")"
    engine_stop
    return 1
  fi
  if ! engine_import_redis "$folder/image"; then
    engine_say "the image $ENGINE_IMAGE could not be made or does not run"
    engine_stop
    return 1
  fi
  # Ryuk, the helper that removes left-over containers, is an image that would have to be fetched.
  export TESTCONTAINERS_RYUK_DISABLED=true TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1
  export SPILLWAY_REDIS_IMAGE=$ENGINE_IMAGE
}

engine_wait_ready() {
  local deadline=$((SECONDS + ENGINE_READY_WITHIN_S))
  while ((SECONDS < deadline)); do
    kill -0 "$ENGINE_PID" 2>/dev/null || return 1
    timeout --kill-after=2 5 docker version >/dev/null 2>&1 </dev/null && return 0
    sleep 0.2
  done
  return 1
}

engine_last_words() { tail -n 1 "$1" 2>/dev/null | cut -c1-300; }

# An image of redis-server, redis-cli, a shell and the libraries that they load. Like the official image it serves
# without protected mode, which would refuse every client outside the container.
engine_import_redis() {
  local root=$1 program path library
  mkdir -p "$root/usr/bin" "$root/usr/local/bin" "$root/bin" "$root/data" "$root/tmp"
  chmod 1777 "$root/tmp"
  for program in redis-server redis-cli sh; do
    path=$(readlink -f "$(command -v "$program")") || return 1
    cp "$path" "$root/usr/bin/$program" || return 1
    for library in $(ldd "$path" | grep -o '/[^ )]*' | sort -u); do
      mkdir -p "$root${library%/*}"
      cp -L "$library" "$root$library" || return 1
    done
  done
  cp "$root/usr/bin/sh" "$root/bin/sh"
  printf '#!/bin/sh\nexec /usr/bin/redis-server "$@" --protected-mode no\n' >"$root/usr/local/bin/redis-server"
  chmod 755 "$root/usr/local/bin/redis-server"
  tar -C "$root" --owner=0 --group=0 -cf "$root.tar" . || return 1
  engine_docker import --change 'ENV PATH=/usr/local/bin:/usr/bin:/bin' --change 'WORKDIR /data' \
    --change 'EXPOSE 6379' --change 'CMD ["redis-server"]' "$root.tar" "$ENGINE_IMAGE" >/dev/null || return 1
  engine_docker run --rm "$ENGINE_IMAGE" /usr/bin/redis-server --version >&2
}

engine_stop() {
  local deadline=$((SECONDS + ENGINE_STOP_WITHIN_S)) containers
  [ -n "$ENGINE_PID" ] || return 0
  if kill -0 "$ENGINE_PID" 2>/dev/null; then
    containers=$(timeout 5 docker ps -q </dev/null 2>/dev/null)
    # shellcheck disable=SC2086 # one argument per container
    [ -z "$containers" ] || engine_docker rm --force $containers >/dev/null 2>&1
    kill "$ENGINE_PID" 2>/dev/null
    while kill -0 "$ENGINE_PID" 2>/dev/null && ((SECONDS < deadline)); do sleep 0.2; done
    if kill -0 "$ENGINE_PID" 2>/dev/null; then
      engine_say "dockerd did not stop within $ENGINE_STOP_WITHIN_S s and was killed"
      kill -KILL "$ENGINE_PID"
    fi
  fi
  wait "$ENGINE_PID" 2>/dev/null
  ENGINE_PID=
  [ -z "$ENGINE_BRIDGE_IS_OURS" ] || ip link delete "$ENGINE_BRIDGE" 2>/dev/null
  return 0
}
