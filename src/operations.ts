/**
 * Operations of the API as typed functions without a transport: they get an authenticated caller and a validated call,
 * and return the response. HTTP is one adapter over them. The compiler requires every operation of the contract.
 */
import { ai } from './features/ai/operations.ts';
import {
  contacts,
  contactImports,
  contactProperties,
  forms,
  segments,
  topics,
} from './features/audience/operations.ts';
import { people } from './features/customers/operations.ts';
import { automations, customEvents } from './features/automations/operations.ts';
import { billing, usage } from './features/billing/operations.ts';
import { broadcasts } from './features/campaigns/operations.ts';
import {
  accounts,
  sessions,
  mfa,
  sso,
  oauth,
  deviceLogins,
  invitations,
  approvals,
  members,
} from './features/identity/operations.ts';
import { inboxes, inboxThreads, inboxDrafts } from './features/inbox/operations.ts';
import { metrics } from './features/metrics/operations.ts';
import { system, findings, certificates } from './features/installation/operations.ts';
import { shares } from './features/sharing/operations.ts';
import { templates, images } from './features/templates/operations.ts';
import { webhooks } from './features/webhooks/operations.ts';
import {
  domains,
  domainClaims,
  domainReports,
  dns,
  emails,
  receivedEmails,
  attachments,
  suppressions,
  inboundRules,
  breakers,
  egress,
  playground,
  providers,
  queue,
  reputation,
  senderRules,
} from './mail/operations.ts';
import { teams, apiKeys, logs, audit } from './tenancy/operations.ts';
import type { OpenApiDocument } from './contract/index.ts';
import type { ModelHealth } from './features/ai/start.ts';
import type { PaymentProvider } from './features/billing/start.ts';
import type { Maker } from './features/identity/index.ts';
import type { Doctor, Node } from './features/installation/start.ts';
import type { Accept } from './mail/accept/index.ts';
import type { World } from './platform/world.ts';
import type { AllOperations, BodyCheck, Ctx, CtxFor, NobodyCtx, OperatorCtx, UserCtx } from './tenancy/access/index.ts';
import type { RequestLog } from './tenancy/logs/index.ts';

/** Services that operations may call, in addition to tenancy, mail and features. */
export interface Services {
  world: World;
  accept: Accept;
  /** Readiness checks of everything a request depends on, by name. */
  checks: Record<string, () => Promise<void>>;
  /** Log entries of requests that are not written yet. */
  requestLog: RequestLog;
  document: OpenApiDocument;
  /** State of this process and of the installation. */
  node: Node;
  /** Examines the machine of this process. */
  doctor: Doctor;
  /** Wakes the queue of this process, if it has one. */
  wakeQueue: () => void;
  /** Stores what the delivery of this process has counted, and lets it read the limits that are stored. */
  syncDelivery: () => Promise<void>;
  /** Payment provider of teams. */
  payments: PaymentProvider;
  /** Health of the model of the AI helpers. */
  modelHealth: ModelHealth;
  version: string;
}

export interface WithServices {
  services: Services;
}

export interface OperationCtx extends Ctx<World>, WithServices, BodyCheck {
  /** Makes the calls of apps that people have approved. */
  maker: Maker;
}

/** Context of an operation, by kind of caller. */
export interface OperationCtxFor extends CtxFor<World> {
  team: OperationCtx;
  user: UserCtx<World> & WithServices;
  operator: OperatorCtx<World> & WithServices;
  nobody: NobodyCtx<World> & WithServices;
}

export type Operations = AllOperations<OperationCtxFor>;

export const operations: Operations = {
  ...accounts,
  ...ai,
  ...apiKeys,
  ...approvals,
  ...attachments,
  ...audit,
  ...automations,
  ...billing,
  ...broadcasts,
  ...certificates,
  ...contactImports,
  ...contactProperties,
  ...contacts,
  ...people,
  ...customEvents,
  ...deviceLogins,
  ...dns,
  ...domainClaims,
  ...domainReports,
  ...domains,
  ...breakers,
  ...egress,
  ...emails,
  ...findings,
  ...images,
  ...inboundRules,
  ...inboxDrafts,
  ...inboxThreads,
  ...inboxes,
  ...invitations,
  ...logs,
  ...members,
  ...metrics,
  ...mfa,
  ...oauth,
  ...playground,
  ...providers,
  ...queue,
  ...receivedEmails,
  ...reputation,
  ...senderRules,
  ...segments,
  ...sessions,
  ...shares,
  ...sso,
  ...suppressions,
  ...system,
  ...teams,
  ...templates,
  ...topics,
  ...forms,
  ...usage,
  ...webhooks,
};
