/**
 * Filters over contacts: parsed and checked against what a team declares, evaluated for one contact, and rendered to
 * SQL for both databases. The evaluator and the SQL agree for every filter and contact. Texts are compared without
 * letter case and with their accents, numbers by value, times as instants.
 */
export {
  chooseIndex,
  needsEngagement,
  renderFilter,
  type IndexChoice,
  type IndexRange,
  type FilterDialect,
  type Rendered,
} from './render-filter.ts';
export {
  ENGAGEMENTS,
  listNeededFacts,
  meetsFilter,
  type Declared,
  type DeclaredProperty,
  type DeclaredSegment,
  type DeclaredTopic,
  type Engagement,
  type EngagementKind,
  type Filter,
  type FilteredContact,
  type NeededFacts,
  type SeenRecipient,
  type Subscription,
  foldText,
  readValue,
  type PropertyType,
  type PropertyValue,
  type ValueResult,
} from './filter.ts';
export {
  hashLink,
  hashPlainLink,
  listNamedIn,
  listPropertyKeys,
  parseFilter,
  type FilterFault,
  type NamedInFilters,
  type ParsedFilter,
} from './parse-filter.ts';
