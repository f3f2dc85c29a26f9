/**
 * Filters over contacts: parsed and checked against what a team declares, evaluated for one contact, and rendered to
 * SQL for both databases. The evaluator and the SQL agree for every filter and contact. Texts are compared without
 * letter case and with their accents, numbers by value, times as instants.
 */
export { chooseIndex, type IndexUse, renderFilter, type FilterDialect, type Rendered } from './render-filter.ts';
export {
  meetsFilter,
  type Declared,
  type DeclaredProperty,
  type DeclaredTopic,
  type Filter,
  type FilteredContact,
  type Subscription,
  foldText,
  readValue,
  type PropertyType,
  type PropertyValue,
  type ValueResult,
} from './filter.ts';
export { listPropertyKeys, parseFilter, type FilterFault, type ParsedFilter } from './parse-filter.ts';
