import type { Command } from 'commander';
import {
  parkedWebhookEvents,
  rotateSecret,
  triggerSample,
  webhookAttempts,
  webhookEvents,
  webhooks,
} from '../../families/webhooks.ts';
import { act, declareCommand } from '../declare.ts';
import { addWords, declareFamily } from '../declare-family.ts';
import { declareStreams } from './declare-streams.ts';
import { nameFields } from '../field-names.ts';
import { eventTypesHelp, typeIn, typesIn } from './event-types.ts';

export function addWebhookCommands(program: Command): void {
  declareFamily(program, webhooks, (parent) => {
    declareCreate(parent);
    declareUpdate(parent);
    declareRotation(parent);
    declareTrigger(parent);
  });
  declareFamily(program, webhookEvents);
  declareFamily(program, webhookAttempts);
  declareFamily(program, parkedWebhookEvents, declareStreams);
}

function declareRotation(parent: Command): void {
  const rotate = declareCommand(parent, rotateSecret.verb, rotateSecret);
  addWords(rotate, rotateSecret.path).action(
    act(async (session, [webhook = '']) => (await import('./rotate-secret.ts')).rotateWebhookSecret(session, webhook)),
  );
}

function declareTrigger(parent: Command): void {
  const trigger = declareCommand(parent, triggerSample.verb, triggerSample)
    .argument('<type>', 'the type of event', typeIn)
    .option('--endpoint <id>', 'only to this endpoint (wh_…), which must take the type')
    .addHelpText('after', `\n${eventTypesHelp()}`)
    .action(
      act(async (session, [type], { endpoint }: { endpoint?: string }) =>
        (await import('../run-action.ts')).runAction(session, triggerSample, [], { type, endpoint }),
      ),
    );
  nameFields(trigger, { type: '<type>', webhook_id: '--endpoint' });
}

function declareCreate(parent: Command): void {
  const create = declareCommand(parent, 'create', {
    summary: 'add an endpoint',
    description: 'Adds an endpoint and shows its signing secret, this once. A connection to it is tried first.',
    example: 'webhooks create https://example.com/hooks --events email.delivered,email.bounced',
  })
    .argument('<url>', 'where events are sent to: https, on a public address')
    .option('--events <types>', 'the types of event to send, separated by commas', typesIn)
    .addHelpText('after', `\n${eventTypesHelp()}`)
    .action(
      act(async (session, [url = ''], options) => (await import('./create.ts')).createWebhook(session, url, options)),
    );
  nameFields(create, { endpoint: '<url>' });
}

function declareUpdate(parent: Command): void {
  const update = declareCommand(parent, 'update', {
    summary: 'change, disable or enable an endpoint',
    description:
      'Changes what is named and leaves the rest as it is. What happens while an endpoint is disabled is parked; enabling it again sends new events only.',
    example: 'webhooks update wh_019a9c1e7d527c3a9a540b8f4c1f2e01 --status disabled',
  });
  addWords(update, webhooks.get.path)
    .option('--endpoint <url>', 'where events are sent to: https, on a public address')
    .option('--events <types>', 'the types of event to send, separated by commas, in place of those before', typesIn)
    .option('--status <status>', 'enabled or disabled')
    .addHelpText('after', `\n${eventTypesHelp()}`)
    .action(
      act(async (session, [webhook = ''], options) =>
        (await import('./update.ts')).updateWebhook(session, webhook, options),
      ),
    );
}
