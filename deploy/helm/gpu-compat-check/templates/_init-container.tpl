{{/*
The init container. Takes a dict: the values of the chart, the image of the container that follows, and
its number of GPUs.

    {{- with include "gpuCompatCheck.initContainer" (dict "values" .Values "image" .Values.image "gpus" 1) }}
    initContainers:
      {{- . | nindent 2 }}
    {{- end }}
*/}}
{{- define "gpuCompatCheck.initContainer" -}}
{{- if .values.gpuCompatCheck.enabled -}}
- name: gpu-compat-check
  image: {{ .image | quote }}
  command:
    - fatbin
    - preflight
    - --timeout
    - {{ .values.gpuCompatCheck.timeoutSeconds | quote }}
    - --termination-log
    - /dev/termination-log
  env:
    - name: NODE_NAME
      valueFrom:
        fieldRef:
          fieldPath: spec.nodeName
  resources:
    limits:
      nvidia.com/gpu: {{ .gpus }}
  terminationMessagePath: /dev/termination-log
  terminationMessagePolicy: FallbackToLogsOnError
{{- end -}}
{{- end -}}
