/**
 * The signature on a webhook delivery, as Svix and Standard Webhooks libraries verify it: a secret, the signature of one
 * body, and the headers that carry one signature per secret. Promises the same bytes for the same input; never reads
 * a clock, never makes randomness and never keeps a secret.
 */
export {
  newWebhookSecret,
  webhookKey,
  webhookSecretBytes,
  webhookHeaders,
  type WebhookHeaders,
  type WebhookMessage,
} from './sign-webhook.ts';
