import type { DomainStatus, Region } from '../../contract/index.ts';

const UUID_PARTS = /^msg_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** Returns the public id of an event, the same at every endpoint: it is the `svix-id` of each delivery. */
export const publicEventId = (eventId: string): string => `msg_${eventId.replaceAll('-', '')}`;

/** Parses the id of an event from a `msg_…` id; undefined if it is malformed. */
export function parseEventId(publicId: string): string | undefined {
  return UUID_PARTS.exec(publicId)?.slice(1).join('-');
}

/** The types of events that can be recorded. `UNTOLD` ones are internal: no endpoint can subscribe to them. */
export const EVENT_TYPES = [
  'email.queued',
  'email.scheduled',
  'email.sent',
  'email.delivery_delayed',
  'email.delivered',
  'email.opened',
  'email.clicked',
  'email.bounced',
  'email.complained',
  'email.failed',
  'email.suppressed',
  'email.canceled',
  'email.unsubscribed',
  'email.received',
  'domain.created',
  'domain.updated',
  'domain.deleted',
  'domain.sending_limited',
  'domain.sending_resumed',
  'suppression.added',
  'suppression.removed',
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'automation.run.started',
  'automation.run.completed',
  'automation.run.failed',
  'inbox.created',
  'inbox.updated',
  'inbox.deleted',
  'inbox.thread.created',
  'inbox.thread.folder.updated',
  'inbox.thread.assigned',
  'inbox.thread.unassigned',
  'inbox.thread.labels.updated',
  'inbox.email.received',
  'inbox.email.sent',
  'inbox.draft.created',
  'inbox.draft.updated',
  'inbox.draft.sent',
  'inbox.draft.deleted',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

export const UNTOLD = ['email.queued', 'email.unsubscribed'] as const satisfies readonly EventType[];

/** The recipients an event concerns. */
interface Recipients {
  to: readonly string[];
}

/** One message is composed for all recipients, so readers are known by name only for simulated ones. */
type Readers = Partial<Recipients>;

/** Set if no person has read: a mail gateway, a program that fetches ahead, a robot. */
interface PerhapsMachine {
  machine?: true;
}

interface Reader {
  ipAddress: string;
  userAgent: string;
  timestamp: string;
}

export interface DomainData {
  id: string;
  name: string;
  status: DomainStatus;
  created_at: string;
  region: Region;
  records: readonly object[];
}

/** A stream of mail of a domain that a circuit breaker limited. */
export interface SendingResumedData {
  id: string;
  name: string;
  stream: 'marketing' | 'transactional';
  /** Tells whether the mail of the domain was judged, or that of all domains of its team. */
  scope: 'domain' | 'team';
  /** Null: all receivers. */
  provider: string | null;
  cause: 'complaints' | 'bounces';
}

export interface SendingLimitData extends SendingResumedData {
  action: 'slowed' | 'paused' | 'probing';
  /** Null while nothing is sent. */
  messages_per_minute: number | null;
  /** Recipients who complained or whose mail bounced, of `recipients`. */
  bad_recipients: number;
  recipients: number;
  window_hours: number;
  since: string;
  until: string;
}

export interface SuppressionData {
  id: string;
  email: string;
  origin: 'bounce' | 'complaint' | 'manual';
  source_id: string | null;
  created_at: string;
}

/** The message may be gone before its webhook is sent, so that the event contains everything. */
export interface ReceivedData {
  email_id: string;
  created_at: string;
  from: string;
  to: readonly string[];
  cc: readonly string[];
  bcc: readonly string[];
  received_for: readonly string[];
  message_id: string;
  subject: string;
  attachments: readonly {
    id: string;
    filename: string | null;
    content_type: string;
    content_disposition: string | null;
    content_id?: string;
  }[];
  /** Set only for dropped messages. */
  dropped_reason?: string;
  /** Set only for messages that a rule would have forwarded. */
  not_forwarded_reason?: string;
}

export interface ContactData {
  id: string;
  segment_ids: readonly string[];
  /** The first of them, for programs that do not know segments. */
  audience_id: string | null;
  created_at: string;
  updated_at: string;
  email: string;
  first_name: string | null;
  last_name: string | null;
  unsubscribed: boolean;
}

interface AutomationRunData {
  id: string;
  automation_id: string;
  contact_id: string;
  status: 'running' | 'completed' | 'failed';
  started_at: string;
  completed_at: string | null;
  /** The reason why it failed. */
  error: string | null;
  /** The event that ended it, if one did. */
  ended_by?: string;
}

/** Source of a change in an inbox: a program, a person at the dashboard, or this service itself. */
export type InboxEventSource = 'api' | 'dashboard' | 'system';

interface InboxData {
  source: InboxEventSource;
  inbox_id: string;
}

/** An inbox as the API returns it. */
interface InboxChangedData extends InboxData {
  inbox: Record<string, unknown> & { id: string };
}

interface InboxThreadLabelData {
  id: string;
  name: string;
  color: string;
}

export interface InboxThreadData extends InboxData {
  thread_id: string;
  thread: {
    object: 'inbox_thread';
    id: string;
    subject: string | null;
    folder: 'inbox' | 'automatic' | 'archive' | 'spam' | 'sent' | 'trash';
    labels: readonly InboxThreadLabelData[];
    read: boolean;
  };
}

export interface InboxEmailData extends InboxThreadData {
  email_id: string;
  /** The email without its texts. */
  email: {
    id: string;
    direction: 'inbound' | 'outbound';
    from: string;
    to: readonly string[];
    cc: readonly string[];
    bcc: readonly string[];
    reply_to: readonly string[];
    subject: string | null;
    message_id: string | null;
    attachments: readonly { id: string; filename: string | null; size: number | null }[];
    read: boolean;
    received_at: string;
  };
}

/** A draft as the API returns it, without its texts. */
interface InboxDraft {
  object: 'inbox_draft';
  id: string;
  type: 'standalone' | 'reply';
  to: readonly string[] | null;
  cc: readonly string[];
  bcc: readonly string[];
  subject: string | null;
  thread_id: string | null;
  reply_to_email_id: string | null;
  email_id: string | null;
  created_at: string;
  updated_at: string;
  attachments: readonly { id: string; filename: string; content_type: string; size: number }[];
}

interface InboxDraftData extends InboxData {
  draft_id: string;
  draft: InboxDraft;
  /** Set for a draft that replies to a thread. */
  thread_id?: string;
  thread?: InboxThreadData['thread'];
}

type MoveFolder = 'inbox' | 'automatic' | 'archive' | 'spam' | 'trash';

/**
 * The fields that each type of event adds to its envelope. The type makes sure that no field is missing when an event
 * is recorded, and that reading one needs no cast.
 */
export interface EventData {
  'email.queued': undefined;
  'email.scheduled': undefined;
  'email.sent': undefined;
  'email.canceled': undefined;
  'email.delivered': Recipients;
  'email.complained': Recipients;
  'email.delivery_delayed': Recipients & {
    delay: {
      type: string;
      expirationTime: string;
      delayedRecipients: readonly { emailAddress: string; diagnosticCode: string }[];
    };
  };
  'email.bounced': Recipients & {
    bounce: { type: BounceType; subType: string; message: string; diagnosticCode: readonly string[] };
  };
  'email.suppressed': Recipients & {
    suppressed: {
      reason: 'previous_bounce' | 'previous_complaint' | 'manual';
      type: 'Suppressed';
      message: string;
      diagnosticCode: readonly string[];
    };
  };
  'email.failed': Recipients & { failed: { reason: string; message?: string } };
  'email.opened': Readers & PerhapsMachine & { open: Reader };
  'email.clicked': Readers & PerhapsMachine & { click: Reader & { link: string } };
  'email.unsubscribed': undefined;
  'email.received': ReceivedData;
  'domain.created': DomainData;
  'domain.updated': DomainData;
  'domain.deleted': DomainData;
  'domain.sending_limited': SendingLimitData;
  'domain.sending_resumed': SendingResumedData;
  'suppression.added': SuppressionData;
  'suppression.removed': SuppressionData;
  'contact.created': ContactData;
  'contact.updated': ContactData;
  'contact.deleted': ContactData;
  'automation.run.started': AutomationRunData;
  'automation.run.completed': AutomationRunData;
  'automation.run.failed': AutomationRunData;
  'inbox.created': InboxChangedData;
  'inbox.updated': InboxChangedData;
  'inbox.deleted': InboxData;
  'inbox.thread.created': InboxEmailData;
  'inbox.thread.folder.updated': InboxThreadData & { from: MoveFolder | 'sent'; to: MoveFolder };
  'inbox.thread.assigned': InboxThreadData & {
    assignee_email: string | null;
    assigned_by_email: string | null;
    previous_assignee_email: string | null;
  };
  'inbox.thread.unassigned': InboxThreadData & { previous_assignee_email: string | null };
  'inbox.thread.labels.updated': InboxThreadData & {
    added: readonly InboxThreadLabelData[];
    removed: readonly InboxThreadLabelData[];
  };
  'inbox.email.received': InboxEmailData;
  'inbox.email.sent': InboxEmailData;
  'inbox.draft.created': InboxDraftData;
  'inbox.draft.updated': InboxDraftData;
  'inbox.draft.deleted': InboxDraftData;
  'inbox.draft.sent': InboxEmailData & { draft_id: string; draft: InboxDraft };
}

type BounceType = 'Permanent' | 'Transient' | 'Undetermined';

/** A type of event with the fields that it adds. */
export type EventDraft<Type extends EventType = EventType> = {
  [Each in Type]: EventData[Each] extends undefined
    ? { type: Each; data?: undefined }
    : { type: Each; data: EventData[Each] };
}[Type];

interface Envelope {
  /** Given if a repetition must be recognized; otherwise the event gets one when it is recorded. */
  id?: string | undefined;
  teamId: string;
  subjectId: string;
  at: number;
  /**
   * For an event of an email: the domain it is sent from, and the broadcast it belongs to. Metrics are counted by them.
   */
  domainId?: string | undefined;
  broadcastId?: string | undefined;
  /** True for one of many events that a campaign causes: webhooks get those of other mail first. */
  isBulk?: boolean | undefined;
  /**
   * True if known to be the first of its type for its subject, where queued and scheduled are one type; several events
   * of one call may be, and count once. If it is not known, it is looked up, at the cost of a statement.
   */
  isFirst?: boolean | undefined;
  /**
   * Length of the chain of automation runs that led to it, each started by the effects of the previous one; not
   * recorded.
   */
  depth?: number | undefined;
  /** The batch of the automation runs that it starts, if it is one of many events; not recorded. */
  batch?: number | undefined;
}

export type NewEvent = Envelope & EventDraft;

/** Reports whether a machine opened or clicked, which changes no state and no count of people. */
export const isByMachine = ({ data }: EventDraft): boolean => data !== undefined && 'machine' in data;
