//! Orders without what identifies a customer.
//!
//! Only the fields named here cross into the function; name, note and whatever else an order holds stay
//! behind, and what comes out is written anew from the fields of [`Masked`].

use tidegate::prelude::*;

/// What is read of an order.
#[derive(Fields)]
pub struct Order<'a> {
    order: &'a str,
    #[field("/customer/email")]
    email: &'a str,
    #[field("/customer/country")]
    country: &'a str,
    card: &'a str,
    amount: f64,
}

/// What is left of it.
#[derive(Fields)]
pub struct Masked<'a> {
    order: &'a str,
    email: &'a str,
    country: &'a str,
    card: &'a str,
    amount: f64,
}

/// What the job file says under `config`.
#[derive(Config)]
pub struct Settings {
    /// How many digits of a card number stay, from its end.
    #[config(default = 4)]
    keep_card_digits: usize,
}

/// Masks address and card of every order.
#[tidegate::function]
pub struct Mask {
    #[config]
    settings: Settings,
    #[scratch]
    email: String,
    #[scratch]
    card: String,
}

impl Unkeyed for Mask {
    type In = Fields<Order<'static>>;
    type Out = Fields<Masked<'static>>;

    fn on_record(&mut self, order: Order<'_>, cx: &mut Context<Self>) -> Result {
        mask_address(order.email, &mut self.email)?;
        mask_card(order.card, self.settings.keep_card_digits, &mut self.card);
        let Order { order, country, amount, .. } = order;
        cx.emit(&Masked { order, email: &self.email, country, card: &self.card, amount });
        Ok(())
    }
}

/// `ada.lund7@example.com` becomes `a***@example.com`.
fn mask_address(address: &str, into: &mut String) -> Result {
    let Some((local, host)) = address.rsplit_once('@') else {
        // The address itself does not go into the error: errors are kept where more people read them.
        bail!("the address has no `@`: it is {} bytes long", address.len());
    };
    into.clear();
    into.extend(local.chars().next());
    into.push_str("***@");
    into.push_str(host);
    Ok(())
}

/// `4000123412341234` becomes `****1234`.
fn mask_card(card: &str, keep_digits: usize, into: &mut String) {
    let hidden = card.chars().count().saturating_sub(keep_digits);
    into.clear();
    into.push_str("****");
    into.extend(card.chars().skip(hidden));
}

#[cfg(test)]
mod tests;
