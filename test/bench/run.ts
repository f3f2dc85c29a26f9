import { benchAccept } from './accept.ts';
import { deadSites } from './attacks/dead-sites.ts';
import { largeMailToSilence } from './attacks/large-mail.ts';
import { silentNames } from './attacks/silent-names.ts';
import { benchAudience } from './audience.ts';
import { benchAutomations } from './automations.ts';
import { benchBatch } from './batch.ts';
import { benchBesideAttack } from './accept-under-attack.ts';
import { benchBesideBatches } from './accept-beside-batches.ts';
import { benchBesideBulk } from './beside-bulk.ts';
import { benchBroadcast } from './broadcast.ts';
import { benchConsole } from './console.ts';
import { benchEndToEnd } from './end-to-end.ts';
import { benchEngagement } from './engagement.ts';
import { benchInbox } from './inbox.ts';
import { benchListPages } from './list-pages.ts';
import { benchMetrics } from './metrics.ts';
import { benchNodes, benchProcesses } from './nodes.ts';
import { benchPostfix } from './postfix.ts';
import { benchPostgres } from './postgres.ts';
import { benchRedirect } from './redirect.ts';
import { runBench, type Rows } from './run-bench.ts';
import { benchScheduled } from './scheduled.ts';
import { benchStartUp } from './start-up.ts';
import { benchWebhooks } from './webhooks.ts';
import { benchWebhookPages } from './webhook-pages.ts';
import { benchWokenNode } from './woken-node.ts';

const usage = `usage: npm run bench -- [--only NAME,NAME] [--quick] [--contacts N] [--json FILE] [--profile DIR]
Measures the speed and memory of this working tree on this machine, on loopback and in temporary folders.`;

const rows: Rows = {
  'start-up': benchStartUp,
  accept: benchAccept,
  batch: benchBatch,
  'end-to-end': benchEndToEnd,
  list: benchListPages,
  console: benchConsole,
  'webhook-lists': benchWebhookPages,
  audience: benchAudience,
  engagement: benchEngagement,
  redirect: benchRedirect,
  metrics: benchMetrics,
  scheduled: benchScheduled,
  webhooks: benchWebhooks,
  'beside-large-mail': (bench) => benchBesideAttack(bench, largeMailToSilence),
  'beside-silent-names': (bench) => benchBesideAttack(bench, silentNames),
  'beside-dead-sites': (bench) => benchBesideAttack(bench, deadSites),
  'beside-batches': benchBesideBatches,
  'beside-bulk': benchBesideBulk,
  broadcast: benchBroadcast,
  automations: benchAutomations,
  inbox: benchInbox,
  postgres: benchPostgres,
  nodes: benchNodes,
  processes: benchProcesses,
  'woken-node': benchWokenNode,
  postfix: benchPostfix,
};

// Twice the time that the slowest machine has needed so far.
runBench({ usage, rows, limitMinutes: 24 });
