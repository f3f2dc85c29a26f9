/**
 * The starting files, by their kinds. Each passes the checks of the API once the commands in its comments were run with a domain of the
 * team.
 */
export const STARTING_FILES: Readonly<Record<string, string>> = {
  welcome: `# A welcome series: an email when a contact is created, and another one three days later.
#
# Create what it names, with a domain of yours, and then the automation, which is disabled:
#
#   rasket templates create Welcome --alias welcome --from 'Hello <hello@example.com>' --subject 'Welcome' --html '<p>Hi {{{FIRST_NAME|there}}}, welcome!</p>'
#   rasket templates publish welcome
#   rasket templates create Tips --alias welcome-tips --from 'Hello <hello@example.com>' --subject 'How to begin' --html '<p>Three ways to begin …</p>'
#   rasket templates publish welcome-tips
#   rasket automations create --file welcome.yaml
#
# Try it for a contact before you enable it:
#
#   rasket automations dry-run Welcome --contact ada@example.com
#   rasket automations update Welcome --status enabled
name: Welcome

# Each contact gets the series once. Others: always, and when_ended.
reentry: never

steps:
  # Imports start it only with --start-automations.
  - key: start
    type: trigger
    config:
      event_name: rasket:contact.created

  # As marketing mail, with an unsubscribe link and your postal address.
  - key: welcome
    type: send_email
    config:
      template:
        id: welcome
      stream: marketing

  - key: wait
    type: delay
    config:
      duration: 3 days

  - key: tips
    type: send_email
    config:
      template:
        id: welcome-tips
      stream: marketing

connections:
  - { from: start, to: welcome }
  - { from: welcome, to: wait }
  - { from: wait, to: tips }
`,
  cart: `# A reminder of an abandoned cart: an email four hours later, and another one after a day, unless the contact orders.
#
# Your shop reports the two events, for example: rasket events send cart.abandoned --email ada@example.com
# Create what it names, with a domain of yours, and then the automation, which is disabled:
#
#   rasket events create cart.abandoned --schema '{"product": "string", "url": "string"}'
#   rasket events create order.placed
#   rasket templates create Cart --alias cart --from 'Shop <shop@example.com>' --subject 'Still thinking about {{{PRODUCT}}}?' --html '<p><a href="{{{CART_URL}}}">Back to your cart</a></p>' --variable PRODUCT --variable CART_URL
#   rasket templates publish cart
#   rasket automations create --file cart.yaml
#
# Try it for a contact before you enable it:
#
#   rasket automations dry-run Cart --contact ada@example.com --payload '{"product": "Tea", "url": "https://example.com/cart"}'
#   rasket automations update Cart --status enabled
name: Cart

# A contact that leaves its cart again gets no second series at the same time.
reentry: when_ended

# The order ends the series, also while it waits.
exit_on:
  - order.placed

steps:
  - key: start
    type: trigger
    config:
      event_name: cart.abandoned

  - key: wait
    type: delay
    config:
      duration: 4 hours

  # The values come from the payload of the event.
  - key: reminder
    type: send_email
    config:
      template:
        id: cart
        variables:
          PRODUCT: { var: event.product }
          CART_URL: { var: event.url }
      stream: marketing

  - key: wait-a-day
    type: delay
    config:
      duration: 1 day

  - key: last-reminder
    type: send_email
    config:
      template:
        id: cart
        variables:
          PRODUCT: { var: event.product }
          CART_URL: { var: event.url }
      subject: Your cart is still there
      stream: marketing

connections:
  - { from: start, to: wait }
  - { from: wait, to: reminder }
  - { from: reminder, to: wait-a-day }
  - { from: wait-a-day, to: last-reminder }
`,
  'win-back': `# A win-back email 90 days after the last order, unless the contact orders again.
#
# Your shop keeps the date of the last order in a property, as YYYY-MM-DD, and reports orders as an event.
# Create what it names, with a domain of yours, and then the automation, which is disabled:
#
#   rasket contact-properties create last_order_on --type string
#   rasket contact-properties create tier --type string
#   rasket events create order.placed
#   rasket templates create 'Win back' --alias win-back --from 'Shop <shop@example.com>' --subject 'We miss you' --html '<p>Hi {{{FIRST_NAME|there}}}, it has been a while.</p>'
#   rasket templates publish win-back
#   rasket automations create --file win-back.yaml
#
# Try it for a contact before you enable it:
#
#   rasket automations dry-run 'Win back' --contact ada@example.com
#   rasket automations update 'Win back' --status enabled
name: Win back

exit_on:
  - order.placed

steps:
  # At 9 o'clock in the time zone of the contact's property timezone.
  - key: start
    type: trigger
    config:
      date_property: last_order_on
      repeat: once
      days: 90
      hour: 9

  # Somebody calls the best customers instead.
  - key: is-vip
    type: condition
    config:
      type: rule
      field: properties.tier
      operator: eq
      value: vip

  - key: miss-you
    type: send_email
    config:
      template:
        id: win-back
      stream: marketing

connections:
  - { from: start, to: is-vip }
  # Nothing follows condition_met: the run ends there.
  - { from: is-vip, to: miss-you, type: condition_not_met }
`,
  birthday: `# A birthday email at 9 o'clock, in the time zone of the contact.
#
# The property birthday holds YYYY-MM-DD or MM-DD, and timezone a name such as Europe/Berlin.
# Create what it names, with a domain of yours, and then the automation, which is disabled:
#
#   rasket contact-properties create birthday --type string
#   rasket contact-properties create timezone --type string
#   rasket templates create Birthday --alias birthday --from 'Hello <hello@example.com>' --subject 'Happy birthday' --html '<p>Happy birthday, {{{FIRST_NAME|friend}}}!</p>'
#   rasket templates publish birthday
#   rasket automations create --file birthday.yaml
#
# Try it for a contact before you enable it:
#
#   rasket automations dry-run Birthday --contact ada@example.com
#   rasket automations update Birthday --status enabled
name: Birthday

steps:
  # With days: -3 it would begin three days before. 29 February is 28 February in other years.
  - key: start
    type: trigger
    config:
      date_property: birthday
      repeat: yearly
      days: 0
      hour: 9

  - key: congratulate
    type: send_email
    config:
      template:
        id: birthday
      stream: marketing

connections:
  - { from: start, to: congratulate }
`,
};
