import type { Command } from 'commander';
import { parkedWebhookEvents, webhookAttempts, webhookEvents, webhooks } from '../../families/webhooks.ts';
import { declareFamily } from '../declare-family.ts';
import { declareStreams } from './declare-streams.ts';

export function addWebhookCommands(program: Command): void {
  declareFamily(program, webhooks, { add: declareStreams });
  for (const family of [webhookEvents, webhookAttempts, parkedWebhookEvents]) declareFamily(program, family);
}
