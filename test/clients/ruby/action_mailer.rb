# frozen_string_literal: true

# Sends with Rails' ActionMailer through the delivery method that the official Ruby client brings.
require_relative "report"
require "action_mailer"
require "resend"
require "resend/mailer"

Resend.api_key = ENV.fetch("RESEND_API_KEY")
ActionMailer::Base.add_delivery_method :resend, Resend::Mailer
ActionMailer::Base.delivery_method = :resend
ActionMailer::Base.raise_delivery_errors = true
ActionMailer::Base.logger = nil

class OrderMailer < ActionMailer::Base
  default from: "Acme <me@#{DOMAIN}>", to: "x@example.org"

  def plain
    mail(subject: "Plain") { |format| format.text { render plain: "It works." } }
  end

  def both
    headers["X-Order"] = "7"
    mail(
      subject: "Both", cc: ["c@example.org"], bcc: ["b@example.org"], reply_to: "answers@example.com",
      tags: [{ name: "kind", value: "receipt" }], options: { idempotency_key: "receipt-1" }
    ) do |format|
      format.text { render plain: "It works." }
      format.html { render html: "<p>It works.</p>".html_safe }
    end
  end

  def attached
    attachments["file.txt"] = "a file"
    attachments.inline["logo.png"] = "\x89PNG".b
    mail(subject: "Attached") do |format|
      format.text { render plain: "It works." }
      format.html { render html: "<img src=\"#{attachments["logo.png"].url}\">".html_safe }
    end
  end

  def scheduled
    mail(subject: "Scheduled", scheduled_at: FIXTURES["in_an_hour"]) { |format| format.text { render plain: "Later." } }
  end
end

%i[plain both attached].each do |action|
  report("ActionMailer #{action}", "lib/resend/mailer.rb", reads: %w[id]) { OrderMailer.public_send(action).deliver_now }
end
