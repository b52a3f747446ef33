{{- define "xprof.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "xprof.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "xprof.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "xprof.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "xprof.selector" -}}
app.kubernetes.io/name: {{ include "xprof.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "xprof.labels" -}}
{{ include "xprof.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "xprof.account" -}}
{{- default (ternary (include "xprof.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name }}
{{- end }}

{{- define "xprof.image" -}}
{{- $tag := toString .Values.image.tag -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}{{ if $tag }}:{{ $tag }}{{ end }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion $tag }}
{{- end }}
{{- end }}

{{/* AppArmor is a field since Kubernetes 1.30, and an annotation before. */}}
{{- define "xprof.appArmorField" -}}
{{- semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version }}
{{- end }}

{{/* An annotation for the container that the list names: (list ROOT CONTAINER). */}}
{{- define "xprof.appArmorAnnotation" -}}
{{- $profile := (first .).Values.appArmorProfile }}
{{- if and $profile (ne (include "xprof.appArmorField" (first .)) "true") -}}
container.apparmor.security.beta.kubernetes.io/{{ last . }}: {{ get (dict "Unconfined" "unconfined" "RuntimeDefault" "runtime/default" "Localhost" (printf "localhost/%s" (default "" $profile.localhostProfile))) $profile.type }}
{{- end }}
{{- end }}

{{/* Capabilities and nothing else, or all of it; then what .Values.securityContext says. */}}
{{- define "xprof.securityContext" -}}
{{- $c := dict "runAsUser" 0 "readOnlyRootFilesystem" true }}
{{- if .Values.privileged }}
{{- $_ := set $c "privileged" true }}
{{- else }}
{{- $_ := set $c "allowPrivilegeEscalation" false }}
{{- $_ := set $c "capabilities" (dict "drop" (list "ALL") "add" .Values.capabilities) }}
{{- with .Values.seccompProfile }}{{ $_ := set $c "seccompProfile" . }}{{ end }}
{{- end }}
{{- if and .Values.appArmorProfile (eq (include "xprof.appArmorField" .) "true") }}
{{- $_ := set $c "appArmorProfile" .Values.appArmorProfile }}
{{- end }}
{{- with .Values.seLinuxOptions }}{{ $_ := set $c "seLinuxOptions" . }}{{ end }}
{{- toYaml (mergeOverwrite $c (deepCopy .Values.securityContext)) }}
{{- end }}

{{/* .Values.affinity, with .Values.nodeRequirements in each of its terms for nodes: terms are alternatives. */}}
{{- define "xprof.affinity" -}}
{{- $affinity := deepCopy .Values.affinity }}
{{- if .Values.nodeRequirements }}
{{- $node := default dict $affinity.nodeAffinity }}
{{- $required := default dict $node.requiredDuringSchedulingIgnoredDuringExecution }}
{{- $terms := list }}
{{- range default (list dict) $required.nodeSelectorTerms }}
{{- $terms = append $terms (set . "matchExpressions" (concat (default list .matchExpressions) $.Values.nodeRequirements)) }}
{{- end }}
{{- $_ := set $required "nodeSelectorTerms" $terms }}
{{- $_ := set $node "requiredDuringSchedulingIgnoredDuringExecution" $required }}
{{- $_ := set $affinity "nodeAffinity" $node }}
{{- end }}
{{- if $affinity }}{{ toYaml $affinity }}{{ end }}
{{- end }}

{{/* What the agents may read of kubelets. Kubelets authorise nodes/pods since 1.33 (beta, on by default); they may be three
     minor versions older than the API server, so between 1.33 and 1.35 the nodes themselves are asked. */}}
{{- define "xprof.kubeletResource" -}}
{{- $server := .Capabilities.KubeVersion.Version }}
{{- $old := semverCompare "<1.33-0" $server }}
{{- if semverCompare ">=1.33-0 <1.36-0" $server }}
{{- range (lookup "v1" "Node" "" "").items }}
{{- if semverCompare "<1.33-0" .status.nodeInfo.kubeletVersion }}{{ $old = true }}{{ end }}
{{- end }}
{{- end }}
{{- if eq .Values.kubeletAccess "auto" }}{{ ternary "nodes/proxy" "nodes/pods" $old }}{{ else }}nodes/{{ .Values.kubeletAccess }}{{ end }}
{{- end }}

{{/* The configuration file: what the values say, then .Values.config over it. */}}
{{- define "xprof.config" -}}
{{- $c := dict "targeting" .Values.targeting "kube" .Values.kube "host-root" "/host" "state-dir" "/var/lib/xprof/spool" "cache-dir" "/var/lib/xprof/cache" "listen" (printf "[::]:%v" .Values.port) }}
{{- if .Values.podEvents }}{{ $_ := set $c "pod-events" "on" }}{{ end }}
{{- with .Values.pyroscope }}
{{- if ne (empty .secret) (empty .secretKeys) }}
{{- fail "pyroscope.secret and pyroscope.secretKeys belong together: a Secret's name, and which of its keys are used (password, token, ca.crt, tls.crt, tls.key)" }}
{{- end }}
{{- if ne (empty .userName) (not (has "password" .secretKeys)) }}
{{- fail "pyroscope.userName and the key password in pyroscope.secretKeys belong together" }}
{{- end }}
{{- if .url }}{{ $_ := set $c "pyroscope-url" .url }}{{ end }}
{{- if .tenant }}{{ $_ := set $c "tenant" .tenant }}{{ end }}
{{- if .userName }}{{ $_ := set $c "user-name" .userName }}{{ end }}
{{- $keys := dict "password" "password-file" "token" "bearer-token-file" "ca.crt" "ca-file" "tls.crt" "cert-file" "tls.key" "key-file" }}
{{- range .secretKeys }}{{ $_ := set $c (get $keys .) (printf "/etc/xprof-secret/%s" .) }}{{ end }}
{{- end }}
{{- if .Values.targetsSecret }}{{ $_ := set $c "targets-token-file" "/etc/xprof-targets/token" }}{{ end }}
{{- with .Values.otlp.url }}{{ $_ := set $c "otlp-url" . }}{{ end }}
{{- range $key, $value := .Values.config }}{{ $_ := set $c $key (ternary (ternary "on" "off" (eq (toString $value) "true")) $value (kindIs "bool" $value)) }}{{ end }}
{{- toYaml $c }}
{{- end }}

{{/* A list of a size such as 512M or 1.5Gi and what its units are powers of: bytes. */}}
{{- define "xprof.bytes" -}}
{{- $text := ternary (printf "%.0f" (first .)) (toString (first .)) (kindIs "float64" (first .)) }}
{{- $n := regexFind "^[0-9.]+" $text | float64 }}
{{- range until (get (dict "K" 1 "M" 2 "G" 3 "T" 4) (regexFind "[KMGT]" (upper $text)) | int) }}{{ $n = mulf $n (last $) }}{{ end }}
{{- int64 $n }}
{{- end }}

{{/* Fails unless all that the agent may write fits into its volume: the kubelet would evict the pod. */}}
{{- define "xprof.stateFits" -}}
{{- $c := include "xprof.config" . | fromYaml }}
{{- $parts := list (get $c "spool-size" | default "256M") (get $c "cache-size" | default "512M") "64M" }}
{{- if hasPrefix "/var/lib/xprof/" (get $c "output-dir" | default "") }}
{{- $parts = append $parts (get $c "output-size" | default "1G") }}
{{- end }}
{{- range get $c "exporters" | default list }}
{{- if hasPrefix "/var/lib/xprof/" (.path | default "") }}{{ $parts = append $parts (get . "max-size" | default "1G") }}{{ end }}
{{- end }}
{{- $need := 0 }}
{{- range $parts }}{{ $need = add $need (include "xprof.bytes" (list . 1024) | int64) }}{{ end }}
{{- $size := toString .Values.stateSize }}
{{- if gt $need (include "xprof.bytes" (list .Values.stateSize (ternary 1024 1000 (hasSuffix "i" $size))) | int64) }}
{{- fail (printf "stateSize: %s is less than what the agent may write to the volume (%s): set at least %dMi, or lower spool-size, cache-size and the output directories in config" $size (join " + " $parts) (div (add $need 1048575) 1048576)) }}
{{- end }}
{{- end }}

{{/* Not empty: probes of the configuration are tracepoints, which tracefs describes. */}}
{{- define "xprof.tracing" -}}
{{- if regexMatch `"(tracepoint|syscall):` (get .Values.config "events" | toJson) }}yes{{ end }}
{{- end }}

{{/* Of the configuration, what a running agent does not read again: a change of it replaces the pods. */}}
{{- define "xprof.fixed" -}}
{{- $c := include "xprof.config" . | fromYaml }}
{{- pick $c "events" "offcpu-min" "offcpu-hide" "memory-max-cost" "probe-max-cost" "probe-links" "io-labels" "kernel" "user" "table-memory" "stack-memory" "cache-dir" "cache-size" "debug-dir" "debuginfod-urls" "short-names" "synth" "kube" "kubeconfig" "api-url" "kubelet-url" "kubelet-insecure" "node-name" "cri-socket" "host-root" "label" "thread-label" "process-frames" "state-dir" "listen" "targets-token-file" "proxy" "no-proxy" | toJson | sha256sum }}
{{- end }}
